#!/usr/bin/env python3
"""`deputy partition --html` in a browser, and --dot through Graphviz. Exits 77, with the reason, where Chromium or
Graphviz is not installed; the tests of the real model are skipped where there is none.

  page_test.py --deputy build/release/bin/deputy [--data DIR] [unittest's arguments]
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree
from pathlib import Path

import browser
import onnx_bytes as onnx

ARGS = None
HOSTILE = "</script><script>alert(1)"
CHAIN = 5000
MOST_DRAW_MS = 50  # of a frame while the graph is panned; it takes a twentieth of that


def deputy(*arguments):
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "NO_COLOR": "1"}
    return subprocess.run([ARGS.deputy, *map(str, arguments)], capture_output=True, text=True, env=environment,
                          timeout=300)


def unary_model(links, x=("x", (2, 3)), opset=13, initializers=()):
    """`links` are (operator, inputs, output, name)."""
    nodes = [onnx.node(op, inputs, [output], name) for op, inputs, output, name in links]
    return onnx.model(nodes, [onnx.value_info(*x)], [onnx.value_info(links[-1][2], x[1])], opset=opset,
                      initializers=initializers)


def chain(operators, count):
    """Nodes n0, n1, ... one after another, with the operators in turn."""
    return unary_model([(operators[i % len(operators)], ["x" if i == 0 else f"v{i - 1}"], f"v{i}", f"n{i}")
                        for i in range(count)])


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.scratch.cleanup)
        cls.browser = browser.Browser()
        cls.addClassCleanup(cls.browser.close)

    @classmethod
    def write(cls, name, model):
        """The model's file, and the place of its page."""
        path = Path(cls.scratch.name, name)
        path.write_bytes(model)
        return path, path.with_suffix(".html")

    def open(self, model, *arguments, page=None):
        page = page or Path(self.scratch.name, "page.html")
        done = deputy("partition", model, "--html", page, *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"written to {page}", done.stdout)
        self.browser.open(page)
        self.assert_clean()
        return page

    def open_model(self, model, *arguments):
        path, page = self.write("model.onnx", model)
        return self.open(path, *arguments, page=page)

    def assert_clean(self):
        self.assertEqual(self.browser.problems(), [])
        self.assertEqual(self.browser.requests_of_network(), [])

    def text(self, element="panel"):
        return self.browser.evaluate(f"document.getElementById('{element}').innerText")

    def value(self, element):
        return self.browser.evaluate(f"document.getElementById('{element}').value")

    def place(self, node):
        """Where a node, or the fold around it, is drawn."""
        return self.browser.evaluate(f"deputy.positionOf({json.dumps(node)})")

    def boxes(self):
        return self.browser.evaluate("deputy.page.canvas.boxes.length")

    def click_node(self, node):
        place = self.place(node)
        self.assertIsNotNone(place, node)
        self.browser.click(place["x"], place["y"])

    def press(self, button):
        x, y = self.browser.evaluate(f"(() => {{ const r = document.getElementById('{button}').getBoundingClientRect();"
                                     "return [r.x + r.width / 2, r.y + r.height / 2]; })()")
        self.browser.click(x, y)

    def search(self, query):
        self.press("query")
        self.browser.evaluate("document.getElementById('query').select()")
        self.browser.type(query)


class SmallGraphs(Page):
    def test_OneNode(self):
        self.open_model(onnx.add_model())
        self.click_node("sum")
        self.assertRegex(self.text(), r"(?s)Add.*sum.*delegate\s+cpu.*Inputs.*float32 \[2,3\]")

    def test_NoEdges(self):
        nodes = [onnx.node("Relu", [f"x{i}"], [f"y{i}"], f"relu{i}") for i in range(2)]
        self.open_model(onnx.model(nodes, [onnx.value_info(f"x{i}", (2,)) for i in range(2)],
                                   [onnx.value_info(f"y{i}", (2,)) for i in range(2)]))
        self.click_node("relu1")
        self.assertIn("relu1", self.text())

    def test_NamesAreNeverMarkup(self):
        name = f"{HOSTILE}<img src=x onerror=alert(1)>"
        self.open_model(unary_model([("Relu", ["x"], name + "v", name), ("Exp", [name + "v"], "y", "end")]))
        self.assertEqual(self.browser.evaluate("document.scripts.length"), 2)
        self.assertEqual(self.browser.evaluate("document.images.length"), 0)
        self.click_node(name)
        self.assertIn(name, self.text())
        self.search("onerror")
        self.assertIn(name[:30], self.text())
        self.assertEqual(self.browser.evaluate("document.images.length"), 0)
        self.assert_clean()

    def test_VeryLongNames(self):
        name = "block/" * 2000 + "end"
        self.open_model(unary_model([("Relu", ["x"], "y", name)]))
        self.click_node(name)
        self.assertIn("block/block", self.text())
        self.assertLess(self.browser.evaluate("deputy.page.canvas.boxes[1].width"), 300)

    def test_AttributesAndConstantsAreShown(self):
        nodes = [onnx.node("LeakyRelu", ["x"], ["a"], "leaky", alpha=0.25),
                 onnx.node("Add", ["a", "two"], ["y"], "sum")]
        self.open_model(onnx.model(nodes, [onnx.value_info("x", (2,))], [onnx.value_info("y", (2,))],
                                   initializers=[onnx.tensor([2], (1,), "two")]))
        self.click_node("leaky")
        self.assertRegex(self.text(), r"(?s)Attributes.*alpha\s+0\.25")
        self.click_node("sum")
        self.assertRegex(self.text(), r"constant float32 \[1\]: 2")

    def test_RegionsAreShownAndLeft(self):
        then_branch, else_branch = (onnx.graph([onnx.node(op, ["a"], [name], name)], [], [onnx.value_info(name, (2,))])
                                    for op, name in (("Relu", "positive"), ("Neg", "negative")))
        self.open_model(onnx.model(
            [onnx.node("If", ["c"], ["y"], "choice", then_branch=then_branch, else_branch=else_branch)],
            [onnx.value_info("c", (), 9), onnx.value_info("a", (2,))], [onnx.value_info("y", (2,))]))
        self.click_node("choice")
        self.assertIn("Show else_branch", self.text())
        self.browser.evaluate("[...document.querySelectorAll('aside button')]"
                              ".find(button => button.textContent === 'Show else_branch').click()")
        self.assertIn("else_branch", self.text("path"))
        self.click_node("negative")
        self.assertRegex(self.text(), r"(?s)Neg.*choice/else_branch")
        self.browser.evaluate("document.getElementById('graph').focus()")
        self.browser.key("Escape", 27)
        self.browser.key("Escape", 27)
        self.assertIn("choice", self.text())
        self.search("positive")
        self.browser.enter()
        self.assertIn("then_branch", self.text("path"))

    def test_KeysWalkFromNodeToNode(self):
        self.open_model(unary_model([("Relu", ["x"], "a", "first"), ("Exp", ["a"], "y", "second")]))
        self.click_node("first")
        self.browser.key("ArrowDown", 40)
        self.assertIn("second", self.text("status"))
        self.browser.key("ArrowUp", 38)
        self.assertIn("first", self.text("status"))
        zoom = self.value("zoom")
        self.browser.key("-", 189, "-")
        self.assertNotEqual(self.value("zoom"), zoom)
        self.browser.key("0", 48, "0")
        self.assertEqual(self.value("zoom"), zoom)

    def test_MeasuredTimesAreShown(self):
        self.open_model(chain(["Relu", "Exp"], 2), "--measure", "2")
        self.click_node("n1")
        self.assertRegex(self.text(), r"time\s+[\d.]+ (ns|µs|ms)")

    def test_TheFirstViewHasTimesAndReasonsOfDelegates(self):
        config = Path(self.scratch.name, "npu.yaml")
        config.write_text("version: 1\ndelegates: [{name: npu0, delegate: sim_npu}]\n")
        self.open_model(chain(["Relu", "Exp"], 4), "--measure", "2", "--config", config)
        self.assertRegex(self.text(), r"(?s)Delegates.*npu0.*[\d.]+ (ns|µs|ms) of a run \([\d.]+ %\).*cpu.* of a run")
        self.assertRegex(self.text(), r"(?s)Not on npu0\s+operator unknown\s+\d+ nodes?")
        self.assertNotIn("differs from the CPU", self.text("legend"))

    def test_TheLegendExplainsWrongResults(self):
        self.open_model(chain(["Relu", "Exp"], 2), "--measure", "1")
        self.browser.evaluate("deputy.page.data.checks.push({result: 'wrong', wrong_nodes: []})")
        self.browser.evaluate("deputy.page.makeLegend()")
        self.assertIn("differs from the CPU", self.text("legend"))


class RepeatedBlocks(Page):
    def blocks(self, count):
        """Blocks of four nodes with a link around them, after one node that is not repeated."""
        links, before = [("Sigmoid", ["x"], "start", "start")], "start"
        for i in range(count):
            for j, op in enumerate(("Relu", "Exp", "Neg")):
                links.append((op, [before if j == 0 else f"b{i}_{j - 1}"], f"b{i}_{j}", f"block{i}/{op}"))
            links.append(("Add", [f"b{i}_2", before], f"b{i}", f"block{i}/Add"))
            before = f"b{i}"
        return unary_model([*links, ("Tanh", [before], "y", "end")])

    def test_AClickUnfoldsThemAndAButtonFoldsThem(self):
        self.open_model(self.blocks(12))
        self.assertEqual(self.boxes(), 5)  # x, start, the fold, end, y
        fold = self.place("block5/Exp")
        self.assertTrue(fold["isFolded"])
        self.assertIn("×12", fold["title"])
        self.click_node("block5/Exp")
        self.assertEqual(self.boxes(), 4 + 12)
        self.assertIn("6 of 12", self.place("block5/Exp")["title"])
        self.press("fit")
        self.click_node("block5/Exp")
        self.assertEqual(self.boxes(), 4 + 11 + 4)
        self.assertEqual(self.place("block5/Exp")["title"], "Exp")
        self.press("fold")
        self.assertEqual(self.boxes(), 5)
        self.press("unfold")
        self.assertEqual(self.boxes(), 4 + 48)

    def test_ASearchUnfoldsWhatItFinds(self):
        self.open_model(self.blocks(12))
        self.search("block7/neg")
        self.assertEqual(self.value("count"), "1")
        self.browser.enter()
        self.assertIn("block7/Neg", self.text())
        self.assertFalse(self.place("block7/Neg")["isFolded"])

    def test_DifferentNodesAreNotFolded(self):
        self.open_model(chain(["Relu", "Exp", "Neg", "Tanh", "Sigmoid", "Abs"], 6))
        self.assertEqual(self.boxes(), 8)
        self.assertTrue(self.browser.evaluate("document.getElementById('fold').disabled"))

    def test_AFanOfAThousandIsFoldedAndUnfolds(self):
        nodes = [onnx.node("Add", ["x", f"c{i}"], [f"v{i}"], f"n{i}") for i in range(1000)]
        nodes.append(onnx.node("Sum", [f"v{i}" for i in range(1000)], ["y"], "sum"))
        self.open_model(onnx.model(nodes, [onnx.value_info("x", (2,))], [onnx.value_info("y", (2,))],
                                   initializers=[onnx.tensor([i], (1,), f"c{i}") for i in range(1000)]))
        self.assertEqual(self.boxes(), 4)
        self.click_node("n999")
        self.assertEqual(self.boxes(), 3 + 1000)
        self.search("n999")
        self.browser.enter()
        self.click_node("n999")
        self.assertRegex(self.text(), r"(?s)n999.*to\s+Sum sum")


class Layout(Page):
    # Of the layout that is shown: boxes of one layer that overlap, and links that do not lead down.
    FAULTS = """(() => {
      const {boxes, layout} = deputy.page.canvas, faults = [];
      for (const {boxes: layer} of layout.layers)
        for (let i = 1; i < layer.length; ++i) {
          const left = boxes[layer[i - 1]], right = boxes[layer[i]];
          if (left.x + left.width / 2 > right.x - right.width / 2) faults.push(`${left.title} overlaps ${right.title}`);
        }
      for (const box of boxes)
        for (const target of box.targets)
          if (box.y + box.height / 2 >= boxes[target].y - boxes[target].height / 2)
            faults.push(`${box.title} is not above ${boxes[target].title}`);
      return faults;
    })()"""

    def random_model(self, seed, count=300):
        """Nodes that read one to three of the nodes before them, mostly near ones."""
        chance = random.Random(seed)
        links = []
        for i in range(count):
            before = {max(-1, i - 1 - int(chance.expovariate(0.2))) for _ in range(chance.choice((1, 1, 2, 3)))}
            inputs = ["x" if source < 0 else f"v{source}" for source in sorted(before)]
            op = "Sum" if len(inputs) > 1 else chance.choice(("Relu", "Exp", "Neg", "Tanh"))
            links.append((op, inputs, f"v{i}", f"n{i}"))
        return unary_model(links)

    def test_BoxesDoNotOverlapAndLinksLeadDown(self):
        for seed in range(5):
            with self.subTest(seed=seed):
                self.open_model(self.random_model(seed))
                self.assertGreater(self.boxes(), 20)
                self.assertEqual(self.browser.evaluate(self.FAULTS), [])
                self.press("unfold")
                self.assertEqual(self.browser.evaluate(self.FAULTS), [])

    def test_ADarkSystemGetsADarkPageWithContrast(self):
        media = [{"name": "prefers-color-scheme", "value": "dark"}]
        self.browser.call("Emulation.setEmulatedMedia", features=media)
        self.addCleanup(self.browser.call, "Emulation.setEmulatedMedia", features=[])
        self.open_model(onnx.add_model())
        for theme in ("dark", "light"):
            self.assertEqual(self.browser.evaluate("document.documentElement.dataset.theme"), theme)
            colours = self.browser.evaluate("deputy.page.canvas.colours")
            for ground in ("ground", "surface"):
                for text, least in (("text", 7), ("muted", 4.5), ("accent", 4.5), ("wrong", 4.5)):
                    self.assertGreater(contrast(colours[text], colours[ground]), least, (theme, text, ground))
            self.press("theme")


def contrast(first, second):
    """Of two colours "#rrggbb", by the rules of WCAG."""
    def luminance(colour):
        parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
        red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue
    light, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


class Chain(Page):
    """Thousands of nodes."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        path, cls.page = cls.write("chain.onnx", chain(["Relu", "Exp", "Neg", "Exp", "Tanh"], CHAIN))
        done = deputy("partition", path, "--html", cls.page)
        assert done.returncode == 0, done.stderr

    def setUp(self):
        self.browser.open(self.page)
        self.assert_clean()

    def test_IsFoldedSearchedAndUnfolded(self):
        self.assertEqual(self.boxes(), 3)
        self.search("n4321")
        self.browser.enter()
        self.click_node("n4321")
        self.assertRegex(self.text(), r"(?s)Exp.*n4321.*delegate\s+cpu.*Inputs.*from\s+Relu n4320")
        self.press("unfold")
        self.assertEqual(self.boxes(), CHAIN + 2)
        self.click_node("n4321")
        self.assertIn("n4321", self.text())

    def test_AFrameWhilePanningIsShort(self):
        self.press("unfold")
        for view in ("start", "fit"):
            self.browser.evaluate(f"deputy.page.canvas.{view}(), performance.clearMeasures('draw')")
            before = self.place("n2500")
            self.browser.drag((500, 500), (400, 300), steps=30)
            after = self.place("n2500")
            self.assertGreater(abs(before["y"] - after["y"]) + abs(before["x"] - after["x"]), 50)
            times = sorted(self.browser.evaluate("performance.getEntriesByName('draw').map(draw => draw.duration)"))
            self.assertGreater(len(times), 2)
            self.assertLess(times[len(times) // 2], MOST_DRAW_MS, times)

    def test_TheWheelZoomsAboutThePointer(self):
        place = self.place("n0")
        self.browser.wheel(place["x"], place["y"], -200)
        after = self.place("n0")
        self.assertAlmostEqual(place["x"], after["x"], delta=2)
        self.assertAlmostEqual(place["y"], after["y"], delta=2)


class RealModel(Page):
    def setUp(self):
        model = Path(ARGS.data, "models", "ppocr_det_v2_ch", "model.onnx")
        if not model.is_file():
            self.skipTest(f"no {model}")
        config = Path(self.scratch.name, "npu.yaml")
        config.write_text("version: 1\ndelegates: [{name: npu0, delegate: sim_npu}]\ncache: {dir: off}\n")
        self.open(model, "--shape", "x=1x3x640x640", "--config", config)

    def test_ANodeShowsItsReasonAndItsAttributes(self):
        self.search("div cpu")
        total = int(self.value("count"))
        self.assertGreater(total, 10)
        self.browser.enter()
        self.assertEqual(self.value("count"), f"1 of {total}")
        self.browser.enter()
        self.assertEqual(self.value("count"), f"2 of {total}")
        self.click_node(self.browser.evaluate("deputy.page.data.nodes[deputy.page.search.hits[1]].name"))
        self.assertRegex(self.text(), r"(?s)^Div.*delegate\s+cpu.*Not on\s+npu0: operator")
        self.search("conv npu0")
        self.browser.enter()
        self.assertRegex(self.text(), r"(?s)^Conv.*partition\s+npu0/0.*constant float32 \[8,3,3,3\]")
        self.assertRegex(self.text(), r"kernel_shape\s+3, 3")

    def test_DelegatesAreEmphasisedByTheLegend(self):
        self.assertRegex(self.text("legend"), r"(?s)npu0 \d+.*cpu \d+")
        self.browser.evaluate("document.querySelector('#legend button').click()")
        self.assertEqual(self.browser.evaluate("document.querySelector('#legend button').ariaPressed"), "true")

    def test_PansByDragging(self):
        before = self.browser.evaluate("[deputy.page.canvas.x, deputy.page.canvas.y]")
        self.browser.drag((300, 600), (300, 300))
        after = self.browser.evaluate("[deputy.page.canvas.x, deputy.page.canvas.y]")
        self.assertGreater(after[1], before[1])


class Dot(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = Path(scratch.name)
        self.model = self.scratch / "model.onnx"
        self.model.write_bytes(unary_model([("Relu", ["x"], "a", f'{HOSTILE}"\\'), ("Exp", ["a"], "y", "end")]))

    def drawn(self, dot):
        """What Graphviz makes of it, as texts."""
        run = subprocess.run(["dot", "-Tsvg"], input=dot, capture_output=True, text=True, timeout=60)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        return [element.text for element in xml.etree.ElementTree.fromstring(run.stdout).iter()
                if element.tag.endswith("text")]

    def test_GraphvizDrawsIt(self):
        done = deputy("partition", self.model, "--dot", "-")
        self.assertEqual(done.returncode, 0, done.stderr)
        texts = self.drawn(done.stdout)
        for text in ("Relu", "Exp", "end", f'{HOSTILE}"\\', "float32 [2,3]", "cpu"):
            self.assertIn(text, texts)

    def test_AFileIsTheSameAsStdout(self):
        path = self.scratch / "graph.dot"
        done = deputy("partition", self.model, "--dot", path)
        self.assertEqual((done.returncode, done.stdout), (0, f"written to {path}\n"))
        self.assertEqual(path.read_text(), deputy("partition", self.model, "--dot", "-").stdout)

    def test_OtherReportsAreRefusedBesideIt(self):
        for other in ("--json", "--nodes"):
            done = deputy("partition", self.model, "--dot", "-", other)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertRegex(done.stderr, f"--dot excludes {other}|{other} excludes --dot")
        done = deputy("partition", self.model, "--measure", "3")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, "--measure requires --html")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--deputy", required=True)
    parser.add_argument("--data", default=str(Path(__file__).resolve().parents[3] / "shared" / "data"))
    ARGS, rest = parser.parse_known_args()
    for program, found in (("chromium", browser.FOUND), ("dot", shutil.which("dot"))):
        if not found:
            print(f"skipped: no {program}; packaging/install-deps.sh test installs it")
            sys.exit(77)
    unittest.main(argv=[sys.argv[0]] + rest)
