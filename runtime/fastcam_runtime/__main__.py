"""`python -m fastcam_runtime` is `fastcam`."""

import sys

from .cli import main

sys.exit(main())
