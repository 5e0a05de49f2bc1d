"""How results are cited: the paper whose idea they test, and the program that played them."""

from __future__ import annotations

import re
from typing import Any

PAPER_ENTRY = """\
@inproceedings{lee2025infrequent,
  title = {Infrequent Exploration in Linear Bandits},
  author = {Lee, Harin and Oh, Min-hwan},
  booktitle = {Advances in Neural Information Processing Systems},
  year = {2025},
  eprint = {2510.26000},
  archiveprefix = {arXiv}
}"""


def bibtex(about: dict[str, Any]) -> str:
    """Two entries: the paper, and infex in the version, and at the commit, that results tell of themselves.

    >>> print(bibtex({"versions": {"infex": "0.1.0"}}).splitlines()[-3])
      version = {0.1.0},
    """
    version = str(about.get("versions", {}).get("infex", ""))
    commit = re.match(r"[0-9a-f]{7,64}", str(about.get("commit", "")))
    fields = [
        "title = {infex: linear bandits that explore only when they are told to}",
        "author = {{The infex team}}",
    ]
    fields += [f"version = {{{version}}}"] if re.fullmatch(r"[\w.+-]+", version) else []
    told = f", played at commit {commit[0][:12]}" if commit else ""
    fields += [f"note = {{Python package{told}}}"]
    inner = ",\n".join(f"  {field}" for field in fields)
    return f"{PAPER_ENTRY}\n\n@software{{infex,\n{inner}\n}}\n"
