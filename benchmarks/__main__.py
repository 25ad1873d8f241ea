"""`make bench`: every benchmark, one after the other."""

from benchmarks import thin_path

thin_path.main()
