"""The rules of CycloneDX 1.5 for the part of its JSON that Deputy's bill of materials uses, and those that its schema
cannot say: references are unique and lead somewhere. A field that is not named here is an error, though the format may
know it.
"""

import re

TYPES = ("application", "framework", "library", "container", "platform", "operating-system", "device", "device-driver",
         "firmware", "file", "machine-learning-model", "data")  # fmt: skip
SCOPES = ("required", "optional", "excluded")
HASH_LENGTHS = {"SHA-256": 64, "SHA-384": 96, "SHA-512": 128}
REFERENCE_TYPES = ("vcs", "issue-tracker", "website", "advisories", "bom", "documentation", "support", "distribution",
                   "license", "build-meta", "release-notes", "other")  # fmt: skip
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
SERIAL = re.compile(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
PURL = re.compile(r"pkg:[a-z][a-z0-9.+-]*/([\w.%~-]+/)*[\w.%~-]+@[\w.%~:-]+(\?[a-z_]+=[^&\s]+(&[a-z_]+=[^&\s]+)*)?")


class Checker:
    def __init__(self):
        self.wrong, self.references = [], []

    def expect(self, holds, where, what):
        if not holds:
            self.wrong.append(f"{where}: {what}")
        return holds

    def fields(self, where, item, required, optional):
        """Whether it is an object with these fields and no other ones."""
        if not self.expect(isinstance(item, dict), where, "is no object"):
            return False
        for name in required:
            self.expect(name in item, where, f"has no '{name}'")
        for name in item:
            self.expect(name in required or name in optional, where, f"has '{name}'")
        return True

    def texts(self, where, item, names):
        for name in names:
            value = item.get(name, "-")
            self.expect(isinstance(value, str) and value, f"{where}.{name}", "is no text, or empty")

    def list_of(self, where, items):
        if not self.expect(isinstance(items, list), where, "is no list"):
            return []
        self.expect(all(items.count(item) == 1 for item in items), where, "has equal items")
        return [(f"{where}[{index}]", item) for index, item in enumerate(items)]

    def hash(self, where, item):
        if self.fields(where, item, ("alg", "content"), ()):
            length = HASH_LENGTHS.get(item.get("alg"))
            self.expect(length, where, f"unknown algorithm {item.get('alg')}")
            self.expect(re.fullmatch(f"[0-9a-f]{{{length}}}", str(item.get("content"))), where, "is no such digest")

    def licence(self, where, item):
        if not self.expect(isinstance(item, dict) and len(item) == 1, where, "is neither a licence nor an expression"):
            return
        if "expression" in item:
            self.texts(where, item, ("expression",))
        elif self.fields(where, item, ("license",), ()):
            licence = item["license"]
            self.expect(isinstance(licence, dict) and list(licence) in (["id"], ["name"]), where, "has one id or one name")
            self.texts(where, licence, licence)

    def component(self, where, item):
        optional = ("bom-ref", "version", "description", "scope", "hashes", "licenses", "purl", "externalReferences",
                    "properties")  # fmt: skip
        if not self.fields(where, item, ("type", "name"), optional):
            return
        self.expect(item.get("type") in TYPES, where, f"unknown type {item.get('type')}")
        self.expect(item.get("scope", "required") in SCOPES, where, f"unknown scope {item.get('scope')}")
        self.texts(where, item, ("name", "bom-ref", "version", "description"))
        self.expect("purl" not in item or PURL.fullmatch(item["purl"]), where, f"{item.get('purl')} is no package URL")
        if "bom-ref" in item:
            self.expect(item["bom-ref"] not in self.references, where, f"a second component is {item['bom-ref']}")
            self.references.append(item["bom-ref"])
        for place, one in self.list_of(f"{where}.hashes", item.get("hashes", [])):
            self.hash(place, one)
        licences = self.list_of(f"{where}.licenses", item.get("licenses", []))
        for place, one in licences:
            self.licence(place, one)
        expressions = sum("expression" in one for _, one in licences)
        self.expect(not expressions or len(licences) == 1, where, "an expression stands alone")
        for place, one in self.list_of(f"{where}.externalReferences", item.get("externalReferences", [])):
            if self.fields(place, one, ("type", "url"), ()):
                self.expect(one.get("type") in REFERENCE_TYPES, place, f"unknown type {one.get('type')}")
                self.texts(place, one, ("url",))
        for place, one in self.list_of(f"{where}.properties", item.get("properties", [])):
            if self.fields(place, one, ("name", "value"), ()):
                self.texts(place, one, ("name", "value"))

    def dependencies(self, items):
        known, seen = set(self.references), []
        for where, item in self.list_of("dependencies", items):
            if not self.fields(where, item, ("ref",), ("dependsOn",)):
                continue
            self.expect(item.get("ref") in known, where, f"there is no component {item.get('ref')}")
            self.expect(item.get("ref") not in seen, where, f"a second time {item.get('ref')}")
            seen.append(item.get("ref"))
            for place, one in self.list_of(f"{where}.dependsOn", item.get("dependsOn", [])):
                self.expect(one in known, place, f"there is no component {one}")
                self.expect(one != item.get("ref"), place, "depends on itself")


def check(document):
    """Everything that is wrong with the document."""
    checker = Checker()
    required = ("bomFormat", "specVersion", "version")
    if not checker.fields("document", document, required, ("$schema", "serialNumber", "metadata", "components", "dependencies")):
        return checker.wrong
    schema = "http://cyclonedx.org/schema/bom-1.5.schema.json"
    checker.expect(document.get("$schema", schema) == schema, "$schema", "is another one")
    checker.expect(document.get("bomFormat") == "CycloneDX", "bomFormat", "is not CycloneDX")
    checker.expect(document.get("specVersion") == "1.5", "specVersion", "is not 1.5")
    checker.expect(type(document.get("version")) is int and document["version"] >= 1, "version", "is no number from 1")
    checker.expect(SERIAL.fullmatch(document.get("serialNumber", "")), "serialNumber", "is no URN of a UUID")
    metadata = document.get("metadata", {})
    if checker.fields("metadata", metadata, (), ("timestamp", "component")):
        checker.expect(TIME.fullmatch(metadata.get("timestamp", "")), "metadata.timestamp", "is no time")
        checker.component("metadata.component", metadata.get("component"))
    for where, item in checker.list_of("components", document.get("components", [])):
        checker.component(where, item)
    checker.dependencies(document.get("dependencies", []))
    return checker.wrong
