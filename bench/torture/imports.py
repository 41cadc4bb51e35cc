"""Damaged measurements of other scripts under `netwarp import`."""

from __future__ import annotations

import shutil

from mutate import damage, files_of

from bench.torture.cases import Case

_LAYOUTS = ("scripts", "scripts/one", "scripts/two/two_run_1")


class Imports:
    """Damages, renames or exchanges one to four files, then imports them."""

    name = "imports"
    unit = "imports"
    share = 0.12

    def attack(self, case: Case) -> None:
        """Damage a copy of the scripts' output and import it."""
        rng, place = case.rng, case.place.work / "scripts"
        shutil.copytree(case.bases.scripts, place)
        for file in dict.fromkeys(rng.choices(files_of(place), k=rng.choice((1, 1, 2, 4)))):
            case.report.target = file.suffix[1:] if file.suffix == ".pcap" else file.name.split("_")[0]
            case.note(damage(file, rng).replace(str(case.place.root), ""))
        if rng.random() < 0.1:
            one, other = rng.sample([file for file in files_of(place) if file.stat().st_size < 1 << 30], 2)
            shutil.copyfile(one, other)
            case.note(f"{other.name} is a copy of {one.name}")
        if rng.random() < 0.05:
            odd = rng.choice(
                ("one_run_-1", "one_run_99999999999999999999", "one_run_٣", "[x]_run_1", "_run_1", "a\nb_run_1")
            )
            shutil.move(place / "one" / "one_run_2", place / "one" / odd)
            case.note(f"one_run_2 is called {odd!r}")
        directory = case.place.work / (_LAYOUTS[0] if rng.random() < 0.8 else rng.choice(_LAYOUTS))
        result = case.place.work / "result"
        plots = () if rng.random() < 0.1 else ("--no-plots",)
        case.netwarp("import", directory, "-o", result, *plots, outputs=[result])
