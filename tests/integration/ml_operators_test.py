#!/usr/bin/env python3
"""The operators of ai.onnx.ml must give what ONNX Runtime gives, on random models of one node each, and damaged ensembles
of trees are errors that name attribute and rule. Exits 77 where ONNX Runtime is not installed.

  ml_operators_test.py --deputy DEPUTY [--seed N] [--rounds N] [unittest's arguments]
"""

import argparse
import os
import subprocess
import sys
import tempfile
import unittest

from peer_cases import ML, Case, failures, refusal, tensor  # isort: skip, it exits with 77 where packages are missing

import numpy as np
import onnx
from onnx import helper
from onnxruntime.capi.onnxruntime_pybind11_state import Fail

OPTIONS = None
TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")


class Maker:
    def __init__(self, seed):
        self.random = np.random.default_rng(seed)

    def pick(self, *values):
        return values[self.random.integers(len(values))]

    def between(self, low, high):
        return int(self.random.integers(low, high + 1))

    def reals(self, *dims):
        """Multiples of 1/8: sums of few have no rounding, so that a comparison with a threshold has one result."""
        return (self.random.integers(-24, 25, dims) / 8).astype("float32")

    def rows(self, features, dtypes=("float32", "float64", "int32", "int64"), may_be_one=True):
        x = self.reals(self.pick(1, 3, 17), features).astype(self.pick(*dtypes))
        return x[0] if may_be_one and self.between(0, 9) == 0 else x

    def with_gaps(self, x):
        if x.dtype.kind == "f":
            x[self.random.random(x.shape) < 0.2] = np.nan
        return x

    def tree(self, tree, nodes, features, modes):
        """Appends a random tree to the lists; gives the numbers of its leaves."""
        count, leaves, pending, at = 0, [], [(0, 0)], 0
        count = 1
        while pending:
            at, depth = pending.pop(0)
            is_leaf = depth >= 4 or (depth > 0 and self.between(0, 3) == 0) or count > 20
            children = (0, 0) if is_leaf else (count, count + 1)
            for name, value in (("treeids", tree), ("nodeids", at), ("modes", "LEAF" if is_leaf else self.pick(*modes)),
                                ("featureids", 0 if is_leaf else self.between(0, features - 1)),
                                ("values", float(self.reals(1)[0])), ("truenodeids", children[0]),
                                ("falsenodeids", children[1]), ("missing_value_tracks_true", self.between(0, 1)),
                                ("hitrates", 1.0)):  # fmt: skip
                nodes.setdefault(f"nodes_{name}", []).append(value)
            if is_leaf:
                leaves.append(at)
            else:
                pending += [(child, depth + 1) for child in children]
                count += 2
        return leaves

    def ensemble(self, kind, targets, features, every_target, positive):
        nodes, weights = {}, {f"{kind}_{name}": [] for name in ("ids", "treeids", "nodeids", "weights")}
        modes = self.pick(MODES, MODES[:1])
        for tree in range(self.between(1, 9)):
            for leaf in self.tree(tree, nodes, features, modes):
                for target in range(targets) if every_target else [self.between(0, targets - 1)]:
                    weight = float(abs(self.reals(1)[0]) / 8 if positive else self.reals(1)[0])
                    for name, value in (("ids", target), ("treeids", tree), ("nodeids", leaf), ("weights", weight)):
                        weights[f"{kind}_{name}"].append(value)
        if self.between(0, 1):
            del nodes["nodes_missing_value_tracks_true"]
        if self.between(0, 1):
            del nodes["nodes_hitrates"]
        return {**nodes, **weights}

    def as_tensors(self, attributes, names):
        """Doubles, which definition 3 has."""
        for name in names:
            if name in attributes:
                attributes[f"{name}_as_tensor"] = tensor(np.array(attributes.pop(name), "float64"))
        return attributes

    def classifier(self):
        features, labels = self.between(1, 5), self.pick([7], [3, 9], [3, 9], [0, 1], [5, 6, 7], [5, 6, 7, 8])
        shape = self.pick("all", "some", "one")
        attributes = self.ensemble("class", len(labels), features, shape == "all", self.between(0, 1))
        if shape == "one":
            attributes["class_ids"] = [self.between(0, len(labels) - 1)] * len(attributes["class_ids"])
        if self.between(0, 1):
            one = len(labels) == 2 and shape != "some" and self.between(0, 1)
            attributes["base_values"] = [float(v) for v in self.reals(1 if one else len(labels))]
        transform = self.pick(*TRANSFORMS[:4])
        x, ml = self.with_gaps(self.rows(features)), 1
        if x.dtype == np.float64 and self.between(0, 1):
            ml = 3
            self.as_tensors(attributes, ("nodes_values", "nodes_hitrates", "class_weights", "base_values"))
        return Case.of("TreeEnsembleClassifier", [x], 2, ml=ml, classlabels_int64s=labels, post_transform=transform,
                       **attributes)  # fmt: skip

    def regressor(self):
        features, targets = self.between(1, 5), self.between(1, 3)
        attributes = self.ensemble("target", targets, features, True, False)
        if self.between(0, 1):
            attributes["base_values"] = [float(v) for v in self.reals(targets)]
        return Case.of("TreeEnsembleRegressor", [self.with_gaps(self.rows(features, ("float32", "float64"), False))],
                       n_targets=targets, aggregate_function=self.pick("SUM", "AVERAGE", "MIN", "MAX"),
                       post_transform=self.pick(*TRANSFORMS[:4]), **attributes)  # fmt: skip

    def trees_of_5(self):
        """TreeEnsemble: branches lead to elements of the lists, and sets of values may be tested."""
        features, targets, dtype = self.between(1, 4), self.between(1, 3), self.pick("float32", "float64")
        nodes = {name: [] for name in ("featureids", "modes", "splits", "truenodeids", "trueleafs", "falsenodeids",
                                       "falseleafs", "missing_value_tracks_true")}  # fmt: skip
        roots, leaf_ids, leaf_weights, members = [], [], [], []

        def child(depth):
            if depth >= 3 or self.between(0, 2) == 0:
                leaf_ids.append(self.between(0, targets - 1))
                leaf_weights.append(float(self.reals(1)[0]))
                return len(leaf_ids) - 1, 1
            return branch(depth), 0

        def branch(depth):
            at = len(nodes["modes"])
            for name in nodes:
                nodes[name].append(0)
            nodes["modes"][at] = self.between(0, 6)
            nodes["featureids"][at] = self.between(0, features - 1)
            nodes["splits"][at] = float(self.reals(1)[0])
            nodes["missing_value_tracks_true"][at] = self.between(0, 1)
            nodes["truenodeids"][at], nodes["trueleafs"][at] = child(depth + 1)
            nodes["falsenodeids"][at], nodes["falseleafs"][at] = child(depth + 1)
            return at

        for _ in range(self.between(1, 6)):
            roots.append(branch(0))
        for mode in nodes["modes"]:
            if mode == 6:
                # ONNX Runtime takes whole numbers alone, of which a row has some.
                members += [float(v) for v in self.random.integers(-3, 4, self.between(1, 5))] + [float("nan")]
        lists = {f"nodes_{name}": nodes[name] for name in nodes if name not in ("modes", "splits")}
        if members:
            lists["membership_values"] = tensor(np.array(members, dtype))
        x = np.round(self.rows(features, (dtype,), False))
        transform, aggregate = self.between(0, 3), self.between(0, 3)

        def made(number):
            return Case.of("TreeEnsemble", [x], ml=5, n_targets=targets, tree_roots=roots,
                           nodes_modes=tensor(np.array(nodes["modes"], "uint8")),
                           nodes_splits=tensor(np.array(nodes["splits"], dtype)), leaf_targetids=leaf_ids,
                           leaf_weights=tensor(np.array(leaf_weights, dtype)), aggregate_function=aggregate,
                           post_transform=number, **lists)  # fmt: skip

        # By the definition 1 is SOFTMAX and 2 LOGISTIC; ONNX Runtime 1.32 has them the other way round.
        case = made(transform)
        case.results = made({1: 2, 2: 1}.get(transform, transform)).results
        return case

    def linear(self):
        features, classes = self.between(1, 20), self.pick(1, 2, 3, 5)
        floats = lambda count: [float(v) for v in self.reals(count)]  # noqa: E731
        transforms = TRANSFORMS[:4]
        yield Case.of("LinearClassifier", [self.rows(features)], 2, coefficients=floats(classes * features),
                      intercepts=floats(classes), classlabels_ints=list(range(10, 10 + max(2, classes))),
                      post_transform=self.pick(*transforms))  # fmt: skip
        yield Case.of("LinearRegressor", [self.rows(features, ("float32",))], coefficients=floats(classes * features),
                      targets=classes, post_transform=self.pick(*transforms),
                      **({"intercepts": floats(classes)} if self.between(0, 1) else {}))  # fmt: skip
        kernel = self.pick("LINEAR", "POLY", "RBF", "SIGMOID")
        parameters = {"kernel_type": kernel, "kernel_params": [0.125, 0.25, float(self.pick(2, 3))]}
        supports = self.between(1, 8)
        yield Case.of("SVMRegressor", [self.rows(features, ("float32",))], coefficients=floats(supports),
                      support_vectors=floats(supports * features), n_supports=supports, rho=floats(1),
                      one_class=self.between(0, 1), **parameters)  # fmt: skip
        yield Case.of("SVMRegressor", [self.rows(features, ("float32",))], coefficients=floats(features), rho=floats(1),
                      kernel_params=[0.0, 0.0, 0.0])  # fmt: skip
        classes = self.between(2, 4)
        per_class = [self.between(1, 4) for _ in range(classes)]
        vectors, pairs = sum(per_class), classes * (classes - 1) // 2
        probabilities = {"prob_a": [-abs(v) - 0.5 for v in floats(pairs)], "prob_b": floats(pairs)}
        yield Case.of("SVMClassifier", [self.rows(features)], 2, coefficients=floats((classes - 1) * vectors),
                      support_vectors=floats(vectors * features), vectors_per_class=per_class, rho=floats(pairs),
                      classlabels_ints=list(range(20, 20 + classes)), post_transform=self.pick(*transforms),
                      **parameters, **(probabilities if self.between(0, 1) else {}))  # fmt: skip
        yield Case.of("SVMClassifier", [self.rows(features)], 2, coefficients=floats(classes * features), rho=floats(1),
                      classlabels_ints=list(range(20, 20 + classes)), kernel_params=[0.0, 0.0, 0.0],
                      post_transform=self.pick(*transforms))  # fmt: skip

    def features(self):
        features = self.between(1, 6)
        x = self.rows(features)
        many = self.pick(1, features)
        floats = lambda count: [float(v) for v in self.reals(count)]  # noqa: E731
        yield Case.of("Scaler", [x], scale=floats(many), offset=floats(many))
        yield Case.of("Normalizer", [x], norm=self.pick("MAX", "L1", "L2"))
        yield Case.of("Binarizer", [x.astype("float32")], threshold=floats(1)[0])
        yield Case.of("Imputer", [self.with_gaps(x.astype("float32"))], imputed_value_floats=floats(many),
                      replaced_value_float=self.pick(float("nan"), 0.5))  # fmt: skip
        yield Case.of("Imputer", [x.astype("int64")], imputed_value_int64s=[int(v) for v in floats(many)],
                      replaced_value_int64=self.between(-1, 1))  # fmt: skip
        rows = self.reals(4, features)
        yield Case.of("FeatureVectorizer", [rows, self.reals(4, 3)], inputdimensions=[features, self.between(1, 4)])
        yield Case.of("ArrayFeatureExtractor", [self.pick(rows, rows[0], self.reals(2, 3, features)),
                                                self.random.integers(0, features, self.pick(1, 3))])  # fmt: skip
        categories = [int(v) for v in self.random.integers(-3, 4, self.between(1, 5))]
        yield Case.of("OneHotEncoder", [x.astype(self.pick("float32", "float64", "int64"))], cats_int64s=categories)
        keys, values = self.pick("floats", "int64s"), self.pick("floats", "int64s")
        if keys != values:
            lists = {"floats": floats, "int64s": lambda count: [int(v) for v in self.reals(count)]}
            yield Case.of("LabelEncoder", [x.astype({"floats": "float32", "int64s": "int64"}[keys])], ml=2,
                          **{f"keys_{keys}": lists[keys](4), f"values_{values}": lists[values](4)})  # fmt: skip
        dtypes = self.pick(("int64", "int64"), ("float32", "float32"), ("float64", "float64"), ("int16", "int16"))
        dtypes = ("int64", "int64") if dtypes == ("int16", "int16") else dtypes
        different = self.random.permutation(np.arange(-4, 5))[:4].astype(dtypes[0])
        yield Case.of("LabelEncoder", [x.astype(dtypes[0])], ml=4, keys_tensor=tensor(different),
                      values_tensor=tensor(self.reals(4).astype(dtypes[1])),
                      default_tensor=tensor(np.array([5], dtypes[1])))  # fmt: skip

    def all(self):
        for _ in range(6):
            yield self.classifier()
        for _ in range(4):
            yield self.regressor()
            yield self.trees_of_5()
        yield from self.linear()
        yield from self.features()


STUMP = {"nodes_treeids": [0, 0, 0], "nodes_nodeids": [0, 1, 2], "nodes_featureids": [0, 0, 0],
         "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"], "nodes_values": [0.5, 0.0, 0.0],
         "nodes_truenodeids": [1, 0, 0], "nodes_falsenodeids": [2, 0, 0], "class_ids": [0, 1, 2],
         "class_nodeids": [1, 1, 2], "class_treeids": [0, 0, 0], "class_weights": [0.25, 0.75, 1.0],
         "classlabels_int64s": [10, 20, 30]}  # fmt: skip
SMALL = {"nodes_featureids": [0, 0], "nodes_modes": tensor(np.array([0, 0], "uint8")),
         "nodes_splits": tensor(np.array([0.5, 1.5], "float32")), "nodes_truenodeids": [1, 0], "nodes_trueleafs": [0, 1],
         "nodes_falsenodeids": [2, 1], "nodes_falseleafs": [1, 1], "leaf_targetids": [0, 0, 0],
         "leaf_weights": tensor(np.array([1, 2, 3], "float32")), "tree_roots": [0], "n_targets": 1}  # fmt: skip
X = np.array([[0.0], [1.0]], "float32")


class BesideOnnxRuntime(unittest.TestCase):
    maxDiff = None

    def test_RandomModels(self):
        maker = Maker(OPTIONS.seed)
        for round_ in range(OPTIONS.rounds):
            with tempfile.TemporaryDirectory(prefix="deputy-ml-") as scratch:
                folders, refused = [], 0
                for case in maker.all():
                    try:
                        expected = case.results()
                    except Fail:  # a row without any score, of which ONNX Runtime makes no label
                        refused += 1
                        continue
                    folders.append(os.path.join(scratch, f"{len(folders)}_{case.name}"))
                    case.write(folders[-1], expected)
                self.assertLess(refused, 4, f"seed {OPTIONS.seed}, round {round_}")
                said = failures(OPTIONS.deputy, folders, "--rtol", "1e-4", "--atol-scale", "1e-5")
                self.assertEqual(said, "", f"seed {OPTIONS.seed}, round {round_}")


class ScratchTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="deputy-ml-")
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name


class ByTheDefinition(ScratchTest):
    """Where ONNX Runtime departs from it, or overflows."""

    def gives(self, case, *expected):
        folder = os.path.join(self.folder, case.name)
        case.write(folder, expected)
        self.assertEqual(failures(OPTIONS.deputy, [folder]), "")

    def test_OfEqualKeysTheLastCountsSinceDefinition4(self):
        x = np.array([3, 1, 2, 9], "int64")
        keys, values = np.array([3, 1, 3, 1, 2], "int64"), np.array([30, 10, 31, 11, 20], "int64")
        self.gives(Case.of("LabelEncoder", [x], ml=4, keys_tensor=tensor(keys), values_tensor=tensor(values),
                           default_tensor=tensor(np.array([-7], "int64"))), np.array([31, 11, 20, -7], "int64"))  # fmt: skip

    def test_BeforeDefinition4TheFirstCountsAsInOnnxRuntime(self):
        case = Case.of("LabelEncoder", [np.array([3, 1], "int64")], ml=2, keys_int64s=[3, 1, 3],
                       values_floats=[0.5, 1.5, 2.5])  # fmt: skip
        self.assertEqual(case.results()[0].tolist(), [0.5, 1.5])
        self.gives(case, *case.results())

    def test_PostTransformsOfTreeEnsembleAreNumberedByItsDefinition(self):
        attributes = {**SMALL, "leaf_targetids": [0, 1, 1], "n_targets": 2}
        raw = np.array([[1, 0], [0, 3]], "float32")
        plain = Case.of("TreeEnsemble", [X], ml=5, post_transform=0, **attributes)
        self.gives(plain, raw)
        softmax = np.exp(raw) / np.exp(raw).sum(axis=1, keepdims=True)
        for number, expected in ((1, softmax), (2, 1 / (1 + np.exp(-raw)))):
            made = Case.of("TreeEnsemble", [X], ml=5, post_transform=number, **attributes)
            self.gives(Case(f"transform_{number}", made.nodes, [X], opsets=made.opsets), expected.astype("float32"))

    def test_ALinearClassifierHasIntercepts(self):
        case = Case.of("LinearClassifier", [np.ones((1, 2), "float32")], 2, classlabels_ints=[0, 1],
                       coefficients=[1.0, 0, 0, 1.0])  # fmt: skip
        self.assertIn("attribute 'intercepts' is empty", refusal(OPTIONS.deputy, case, self.folder))

    def test_BaseValuesAreAddedToTargetsWithoutALeaf(self):
        nodes = {name: value for name, value in STUMP.items() if name.startswith("nodes_")}
        case = Case.of("TreeEnsembleRegressor", [X], n_targets=2, base_values=[10.0, 20.0], target_ids=[0, 0],
                       target_nodeids=[1, 2], target_treeids=[0, 0], target_weights=[1.0, 2.0], **nodes)  # fmt: skip
        self.assertEqual(case.results()[0].tolist(), [[11, 0], [12, 0]])
        self.gives(case, np.array([[11, 20], [12, 20]], "float32"))

    def test_LinearRegressorComputesInDoublesWhatFloatsDoNotHold(self):
        for dtype in ("int32", "int64", "float64"):
            made = Case.of("LinearRegressor", [np.array([[2**24 + 1]], dtype)], coefficients=[1.0], intercepts=[-(2.0**24)])
            self.gives(Case(dtype, made.nodes, made.inputs), np.array([[1]], "float32"))

    def test_SquaresOfLargeElementsDoNotOverflow(self):
        x = np.array([[1e20, 2e20, 0], [3e-30, 4e-30, 0], [3e38, 3e38, 3e38]], "float32")
        expected = (x / np.sqrt((x.astype("float64") ** 2).sum(axis=1, keepdims=True))).astype("float32")
        self.gives(Case.of("Normalizer", [x], norm="L2"), expected)
        large = np.array([[3e38, -3e38]], "float32")
        self.gives(Case("L1", Case.of("Normalizer", [large], norm="L1").nodes, [large]), np.array([[0.5, -0.5]], "float32"))


class InPlaceOfMapsAndStrings(ScratchTest):

    def case(self, labels):
        classifier = helper.make_node("TreeEnsembleClassifier", ["x0"], ["y0", "scores"], domain=ML,
                                      **{**{k: v for k, v in STUMP.items() if k != "classlabels_int64s"}, **labels})  # fmt: skip
        zip_map = helper.make_node("ZipMap", ["scores"], ["y1"], domain=ML, **labels)
        return Case("zip_map", [classifier, zip_map], [X], 2)

    def said(self, case):
        path = os.path.join(self.folder, "model.onnx")
        with open(path, "wb") as file:
            file.write(case.model().SerializeToString())
        np.save(os.path.join(self.folder, "x.npy"), X)
        done = subprocess.run([OPTIONS.deputy, "run", path, "--input", f"x0={self.folder}/x.npy"], capture_output=True,
                              text=True, check=False)  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stderr

    def test_AZipMapIsTheTensorOfItsScores(self):
        case = self.case({"classlabels_int64s": [10, 20, 30]})
        labels, maps = case.results()
        scores = np.array([[row[label] for label in (10, 20, 30)] for row in maps], "float32")
        folder = os.path.join(self.folder, "case")
        case.write(folder, [labels, scores])
        self.assertEqual(failures(OPTIONS.deputy, [folder]), "")
        self.assertIn("output 'y1' is the tensor of scores of which ZipMap makes maps; its columns are 0: 10, 1: 20, 2: 30",
                      self.said(case))  # fmt: skip

    def refuses(self, text, labels, x, between=()):
        """A ZipMap behind nodes between it and `x`."""
        scores = "scores" if between else "x0"
        zip_map = helper.make_node("ZipMap", [scores], ["y0"], domain=ML, name="map", **labels)
        self.assertIn(text, refusal(OPTIONS.deputy, Case("zip_map", [*between, zip_map], [x]), self.folder))

    def test_AZipMapHasALabelForEachColumn(self):
        scores = np.array([[0.25, 0.5, 0.25]], "float32")
        for labels in ({"classlabels_int64s": [10, 20]}, {"classlabels_int64s": [10, 20, 30, 40]},
                       {"classlabels_strings": ["a", "b"]}):  # fmt: skip
            count = len(next(iter(labels.values())))
            said = f"node 'map' (ZipMap): the scores have 3 columns, expected {count}, one for each of the labels"
            self.refuses(said, labels, scores)
            classifier = helper.make_node("TreeEnsembleClassifier", ["x0"], ["", "scores"], domain=ML, **STUMP)
            self.refuses(said, labels, X, [classifier])
            # Behind other nodes the columns are known when types are inferred.
            self.refuses(f"node 'map' (Split): the split sizes add up to {count}, expected the extent 3", labels, scores,
                         [helper.make_node("Relu", ["x0"], ["scores"])])  # fmt: skip

    def test_AZipMapHasLabelsOfOneKind(self):
        scores = np.array([[0.25, 0.75]], "float32")
        self.refuses("attributes 'classlabels_strings' and 'classlabels_int64s' are both given, expected one of them",
                     {"classlabels_int64s": [1, 2], "classlabels_strings": ["a", "b"]}, scores)  # fmt: skip
        self.refuses("attributes 'classlabels_strings' and 'classlabels_int64s' are empty, expected the labels", {}, scores)

    def test_LabelsThatAreStringsAreTheirNumbers(self):
        names = ["setosa", "virginica", "versicolor"]
        case = self.case({"classlabels_strings": names})
        labels, maps = case.results()
        scores = np.array([[row[label] for label in names] for row in maps], "float32")
        folder = os.path.join(self.folder, "case")
        case.write(folder, [np.array([names.index(label) for label in labels], "int64"), scores])
        self.assertEqual(failures(OPTIONS.deputy, [folder]), "")
        self.assertIn("output 'y0' has the numbers of the labels instead of their texts: 0: 'setosa', 1: 'virginica'",
                      self.said(case))  # fmt: skip

    def labelled(self, op_type, readers):
        """A classifier of the labels '10' and '20' and nodes that read them as `labels`."""
        attributes = {"classlabels_strings": ["10", "20"]}
        if op_type == "TreeEnsembleClassifier":
            attributes = {**STUMP, **attributes, "class_ids": [0, 1, 1]}
            del attributes["classlabels_int64s"]
        elif op_type == "LinearClassifier":
            attributes.update(coefficients=[1.0, -1.0], intercepts=[0.0, 0.0])
        else:
            attributes.update(coefficients=[1.0, -1.0], rho=[0.0], kernel_type="LINEAR")
        node = helper.make_node(op_type, ["x0"], ["labels", "scores"], "classifier", domain=ML, **attributes)
        return Case(op_type, [node, *readers], [X])

    def test_LabelsThatAreStringsAreReadByNoOtherNode(self):
        cast = helper.make_node("Cast", ["labels"], ["t"], to=7)
        branches = {"then_branch": helper.make_graph([cast], "then", [], [onnx.ValueInfoProto(name="t")]),
                    "else_branch": helper.make_graph([helper.make_node("Constant", [], ["e"], value_ints=[1])], "else", [],
                                                     [onnx.ValueInfoProto(name="e")])}  # fmt: skip
        true = helper.make_node("Constant", [], ["true"], value=tensor(np.array(True)))
        readers = {
            "Cast": [helper.make_node("Cast", ["labels"], ["y0"], "reader", to=7)],
            "Equal": [helper.make_node("Equal", ["labels", "labels"], ["y0"], "reader")],
            "Identity": [helper.make_node("Identity", ["labels"], ["again"]),
                         helper.make_node("Unique", ["again"], ["y0"], "reader")],
            "If": [true, helper.make_node("If", ["true"], ["y0"], "reader", **branches)],
        }  # fmt: skip
        for op_type in ("LinearClassifier", "SVMClassifier", "TreeEnsembleClassifier"):
            for name, nodes in readers.items():
                with self.subTest(op_type + " " + name):
                    said = refusal(OPTIONS.deputy, self.labelled(op_type, nodes), self.folder)
                    self.assertRegex(said, r"node 'reader' \(\w+\): reads '(labels|again)', the labels of a classifier")

    def test_LabelsThatAreStringsAreNotedForTheOutputThatHasThem(self):
        case = self.labelled("LinearClassifier", [helper.make_node("Identity", ["labels"], ["y0"])])
        said = self.said(case)
        self.assertIn("output 'y0' has the numbers of the labels instead of their texts: 0: '10', 1: '20'", said)
        self.assertNotIn("output 'labels'", said)

    def test_OtherOperatorsWithStringsAreRefusedByName(self):
        for case in (Case.of("LabelEncoder", [X.astype("int64")], ml=2, keys_int64s=[1], values_strings=["a"]),
                     Case.of("CategoryMapper", [X.astype("int64")], cats_int64s=[1], cats_strings=["a"])):  # fmt: skip
            self.assertIn("strings are no values of a run", refusal(OPTIONS.deputy, case, self.folder))


class Damaged(ScratchTest):
    def says(self, text, op_type="TreeEnsembleClassifier", base=None, x=X, **changes):
        attributes = {**(STUMP if base is None else base), **changes}
        attributes = {name: value for name, value in attributes.items() if value is not None}
        case = Case.of(op_type, [x], 2 if op_type.endswith("Classifier") else 1, ml=5 if base is SMALL else 3,
                       **attributes)  # fmt: skip
        said = refusal(OPTIONS.deputy, case, self.folder)
        self.assertIn("node 'node'", said)
        self.assertIn(text, said)

    def test_R190_lists_of_different_lengths(self):
        self.says("attribute 'nodes_featureids' has 2 elements, expected 3", nodes_featureids=[0, 0])
        self.says("attribute 'nodes_modes' has 4 elements, expected 3", nodes_modes=["LEAF"] * 4)
        self.says("attribute 'nodes_values' has 0 elements, expected 3", nodes_values=None)
        self.says("attribute 'nodes_missing_value_tracks_true' has 1 elements", nodes_missing_value_tracks_true=[1])
        self.says("attribute 'class_weights' has 1 elements, expected 3", class_weights=[1.0])
        self.says("attribute 'class_nodeids' has 2 elements, expected 3", class_nodeids=[1, 2])
        self.says("attribute 'base_values' has 2 elements, expected none or 3", base_values=[1.0, 2.0])
        self.says("attribute 'nodes_trueleafs' has 1 elements, expected 2", "TreeEnsemble", SMALL, nodes_trueleafs=[0])
        self.says("attribute 'leaf_weights' has 3 elements, expected 2", "TreeEnsemble", SMALL, leaf_targetids=[0, 0])

    def test_R190_cycles_and_roots(self):
        self.says("branches of tree 0 lead back to node 0, expected no cycles", nodes_truenodeids=[0, 0, 0])
        self.says("lead back to node", nodes_modes=["BRANCH_LEQ"] * 3, nodes_truenodeids=[1, 2, 1],
                  nodes_falsenodeids=[1, 2, 1])  # fmt: skip
        self.says("no branch leads to nodes 0 and 2 of tree 0, expected one root", nodes_falsenodeids=[1, 0, 0])
        self.says("branches lead back to node", "TreeEnsemble", SMALL, nodes_trueleafs=[0, 0])

    def test_R190_nodes_and_targets_that_are_not_there(self):
        self.says("attribute 'nodes_truenodeids': element 0 names node 9 of tree 0, which does not exist",
                  nodes_truenodeids=[9, 0, 0])  # fmt: skip
        self.says("node 1 of tree 0 is listed twice, in elements 1 and 2", nodes_nodeids=[0, 1, 1])
        self.says("attribute 'class_nodeids': element 2 names node 5 of tree 0", class_nodeids=[1, 1, 5])
        self.says("attribute 'class_ids': element 1 is 3, expected 0 to 2", class_ids=[0, 3, 2])
        self.says("attribute 'class_ids': element 0 is -1, expected 0 to 2", class_ids=[-1, 1, 2])
        self.says("attribute 'nodes_featureids': element 0 is -1", nodes_featureids=[-1, 0, 0])
        self.says("attribute 'nodes_modes': element 0 is 'BRANCH', expected one of", nodes_modes=["BRANCH", "LEAF", "LEAF"])
        self.says("the trees compare feature number 7", nodes_featureids=[7, 0, 0])
        self.says("attribute 'nodes_falsenodeids': element 0 is 3, of 3 there", "TreeEnsemble", SMALL,
                  nodes_falsenodeids=[3, 1])  # fmt: skip
        self.says("attribute 'tree_roots': element 0 is 2, of 2 there", "TreeEnsemble", SMALL, tree_roots=[2])
        self.says("attribute 'membership_values' has 0 sets, expected 1", "TreeEnsemble", SMALL,
                  nodes_modes=tensor(np.array([0, 6], "uint8")))  # fmt: skip
        self.says("element 1 is 9, expected 0 to 6", "TreeEnsemble", SMALL, nodes_modes=tensor(np.array([0, 9], "uint8")))

    def test_lists_of_which_one_is_expected(self):
        both = "attributes 'classlabels_strings' and '{}' are both given, expected one of them"
        self.says(both.format("classlabels_int64s"), classlabels_strings=["a", "b", "c"])
        labels = {"classlabels_ints": [1, 2], "classlabels_strings": ["a", "b"]}
        linear = {"coefficients": [1.0, -1.0], "intercepts": [0.0, 0.0]}
        self.says(both.format("classlabels_ints"), "LinearClassifier", linear, **labels)
        vectors = {"coefficients": [1.0, -1.0], "rho": [0.0], "kernel_params": [0.0, 0.0, 0.0]}
        self.says(both.format("classlabels_ints"), "SVMClassifier", vectors, **labels)
        self.says("attributes 'imputed_value_floats' and 'imputed_value_int64s' are both given, expected one of them",
                  "Imputer", {"imputed_value_floats": [1.0], "imputed_value_int64s": [1]})  # fmt: skip

    def test_R190_nothing_at_all(self):
        self.says("attribute 'nodes_treeids' is empty", nodes_treeids=None)
        self.says("are empty, expected the labels of the classes", classlabels_int64s=None)
        self.says("attribute 'tree_roots' is missing", "TreeEnsemble", SMALL, tree_roots=None)

    def test_R191_a_tree_of_a_million_nodes_in_one_line(self):
        count = 1_000_001
        branches = count // 2
        ids = list(range(count))
        # Branch i leads to leaf branches + i, and on to branch i + 1.
        attributes = {"nodes_treeids": [0] * count, "nodes_nodeids": ids, "nodes_featureids": [0] * count,
                      "nodes_modes": ["BRANCH_LEQ"] * branches + ["LEAF"] * (branches + 1),
                      "nodes_values": [-1.0] * count, "nodes_truenodeids": [branches + i for i in range(branches)] + [0] * (branches + 1),
                      "nodes_falsenodeids": [*range(1, branches), count - 1] + [0] * (branches + 1),
                      "class_ids": [1], "class_nodeids": [count - 1], "class_treeids": [0], "class_weights": [2.0]}  # fmt: skip
        case = Case.of("TreeEnsembleClassifier", [X], 2, **{**STUMP, **attributes})
        folder = os.path.join(self.folder, "deep")
        case.write(folder, [np.array([20, 20]), np.array([[0, 2, 0]] * 2, "float32")])
        self.assertEqual(failures(OPTIONS.deputy, [folder]), "")
        self.says("lead back to node", **{**attributes, "nodes_falsenodeids": [*range(1, branches), 0] + [0] * (branches + 1)})


def main():
    global OPTIONS
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--deputy", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=4)
    OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
