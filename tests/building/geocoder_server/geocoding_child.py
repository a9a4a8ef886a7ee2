"""A process that looks texts up: URL CACHE INTERVAL FIRST LAST READY-FILE GO-FILE. Prints one line an answer."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from signpost_kit.geocoding.choose import open_finder
from signpost_kit.profile_sections import Targets

url, cache, interval, first, last, ready, go = sys.argv[1:]
section = Targets(geocoder="nominatim", contact="tests@signpost.test", url=url, interval_s=float(interval))
with open_finder(section, cache=Path(cache)) as finder:
    Path(ready).touch()
    while not Path(go).exists():
        time.sleep(0.001)
    for number in range(int(first), int(last)):
        entry = finder.find(f"Place {number}")
        print(number, len(entry.places), entry.origin, flush=True)
