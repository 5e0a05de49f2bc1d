"""CONTRIBUTING's recipe for a new policy, followed to the letter in a copy of the package."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import infex
from infex.core import ridge

ROOT = Path(__file__).parent.parent


def recipe() -> tuple[str, str]:
    """The file and the line that a new policy takes."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    (block,) = re.findall(r"   ```python\n(.*?)   ```\n", text, flags=re.DOTALL)
    (line,) = re.findall(r"`(from infex\.policies\.midpoint import .*?)`", text)
    return re.sub(r"^   ", "", block, flags=re.MULTILINE), line


# An editable install would lead back to the checkout.
IN_COPY = """
import sys
sys.meta_path = [each for each in sys.meta_path if "editable" not in type(each).__module__]
"""
PROGRAM = """
import numpy as np
import infex
from infex.policies.compiled import compiled_spec
from infex import registry
from infex.registry import stream_name

policy = infex.policies.Midpoint(bonus=0.6)
assert registry.POLICIES["Midpoint"].kind is infex.policies.Midpoint
assert infex.from_record(infex.to_record(policy)) == policy
assert registry.parse("Infex(Midpoint(bonus=0.6), every(5))").base == policy
assert stream_name(policy) == "Midpoint(bonus=0.6)"
assert compiled_spec(policy) is None

instance = infex.lab.environments.gaussian(dim=3, arms=9, seed=2)
for wrap in (lambda base: base, lambda base: infex.Infex(base, infex.every(3))):
    mine = infex.lab.play(instance, wrap(policy), 400, record=True)
    half = infex.lab.play(instance, wrap(infex.policies.FixedBonusUCB(bonus=0.3)), 400, record=True)
    assert mine.arms.tolist() == half.arms.tolist()
print("followed")
"""


def test_the_recipe_for_a_new_policy_works_as_it_is_written(tmp_path: Path) -> None:
    package = tmp_path / "infex"
    shutil.copytree(Path(infex.__file__).parent, package)
    for compiled in Path(ridge.__file__).parent.glob("*.so"):  # where an editable install has built them
        shutil.copy(compiled, package / "core")
    file, line = recipe()
    (package / "policies" / "midpoint.py").write_text(file)
    with (package / "policies" / "__init__.py").open() as lines:
        text = lines.read()
    (package / "policies" / "__init__.py").write_text(text.replace("\nglobals()", f"{line}\n\nglobals()", 1))
    ran = subprocess.run(
        [sys.executable, "-c", IN_COPY + PROGRAM], cwd=tmp_path, capture_output=True, text=True
    )
    assert ran.stdout.strip() == "followed", ran.stderr
