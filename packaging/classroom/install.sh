#!/bin/sh
# Installs netwarp from this directory, without a network and without root: sh install.sh [DIRECTORY]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
place=${1:-$HOME/netwarp}
python=${PYTHON:-python3}

version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
if ! grep -qxF "$version" "$here/pythons.txt"; then
	echo "$python is Python $version, and there are wheels for $(paste -sd' ' "$here/pythons.txt") here." >&2
	echo "Name another: PYTHON=python3.12 sh install.sh" >&2
	exit 1
fi
# Without pip: Debian keeps what venv makes it of in another package. The one here is run from its wheel.
"$python" -m venv --without-pip "$place"
pip=$(echo "$here"/wheels/pip-*.whl)
"$place/bin/python" "$pip/pip" install --quiet --disable-pip-version-check \
	--no-index --find-links "$here/wheels" netwarp
"$place/bin/netwarp" self-test
echo "netwarp is $place/bin/netwarp"
