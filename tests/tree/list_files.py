#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints the files under FOLDER whose names end in ENDING, one a line, sorted, relative to FOLDER.

Usage: list_files.py FOLDER ENDING
"""

import sys
from pathlib import Path

folder, ending = Path(sys.argv[1]), sys.argv[2]
for path in sorted(folder.rglob("*" + ending)):
    print(path.relative_to(folder).as_posix())
