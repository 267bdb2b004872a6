"""Configurations: those of the tree, and small ones for what they leave out."""

from pathlib import Path

CONFIGS = Path(__file__).resolve().parents[2] / "configs"

OWN = {
    "options": """version: 1
plugins: {paths: [a, ./b, $deputy/plugins], trust: listed, trust_keys: [k.pub], auto: off, sandbox: false}
delegates:
  - {name: npu0, delegate: sim_npu, device: "1", enabled: true, required: false, precision: float16, priority: -3}
  - name: gpu.0
    options: {set: "*x: y #z", nested: {stage: run, after: 3}}
    min_nodes: 2
    min_flops: 1000000
    isolation: process
    timeout: 1.5s
    call_timeout: 10s
    call_timeout_total: 1min
    memory_limit: 1GB
    on_failure: fail
    verify: {when: first_run, rtol: 1e-3, atol: 0.5, outliers: 0.1, on_mismatch: fail}
#set delegates.npu0.options.frequency=low
#set delegates.gpu.0.timeout=2ms
""",
    "rules": """version: 1
delegates: [{name: a}, {name: b, rules: {include: {ops: [Conv, "Mat*"]}, exclude: {nodes: ["*/head/*"]}}}]
placement:
  policy: cost
  rules:
    - {ops: [Conv], domains: [""], to: a}
    - {nodes: ["~", "null", "a: b"], avoid: [b]}
fallback: none
#set placement.policy=measured
#set placement.margin=7 %
""",
    "limits": """version: 1
cpu: {threads: 4}
limits: {loop_steps: none, timeout: 30s, memory: 2 GB}
passes: {fold_constants: false, fold_budget: 1MB}
cache: {dir: /tmp/cache, max: 10MB}
log: {level: debug, delegates: {cpu: error}}
debug: {check: true, dump: [graph], dump_dir: /tmp/dump}
#set limits.memory=0B
#set log.delegates.cpu=off
""",
    "quotes": """%YAML 1.2
---
version: 1   # a comment
delegates:
- name: 'it''s'
  options:
    text: |
      two
      lines
    folded: >-
      one
      line
    double: "\\u00e9\\x41\\n"
    flow: {a: [1, 2, {b: c}], d: ~}
""",
    "refused": """version: 1
delegates: &all
  - {name: a, name: b}
  - *all
  - <<: {x: y}
cpu: {threads: 017, thread: 1}
plugins: {paths: !!str x}
#set cpu.threads
#set =1
""",
}


def files():
    shipped = {path.name: path.read_bytes() for path in sorted(CONFIGS.glob("*.yaml"))}
    return {**shipped, **{f"{name}.yaml": text.encode() for name, text in OWN.items()}}
