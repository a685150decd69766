"""`python -m infinicore` is the command `infini`."""

import sys

from infinicore.cli import main

sys.exit(main())
