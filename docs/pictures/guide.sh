#!/bin/sh
# The pictures of docs/USER-GUIDE.md, the application itself at each place of the path, and
# those of docs/VIEWER.md. The run inside PyTorch is made again where TESSERA_TEST_PYTHON
# names a Python that has it, the report where BROWSER names a Chromium without a head.
# Usage: docs/pictures/guide.sh BUILD [FOLDER]    (needs Xvfb and pngquant)
#
# SPDX-License-Identifier: Apache-2.0
set -e
root=$(cd "$(dirname "$0")/../.." && pwd)
viewer=$1/viewer/tessera-viewer
out=${2:-$root/docs/pictures}
work=$(mktemp -d)
half=/tmp/half.pickle # is read on a picture
trap 'rm -rf "$work" "$half"' EXIT
export GDK_BACKEND=x11 GSK_RENDERER=cairo GTK_A11Y=test GSETTINGS_BACKEND=memory GDK_DEBUG=gl-disable
export DBUS_SESSION_BUS_ADDRESS=disabled:
export XRUN_SCREEN=2800x1600x24

# keep NAME: what was drawn, in few colours.
keep () {
  pngquant --force --strip --nofs --output "$out/$1.png" 256 "$work/shot.png"
}

# shot NAME ACTIONS [OPTION...]: edits are kept beside the trace, so each has its own.
shot () {
  name=$1 actions=$2
  shift 2
  "$root/tests/xrun" "$viewer" --screenshot "$work/shot.png" --size 1280x720 --actions "$actions" "$@" \
    "$trace" 2>"$work/said" || { cat "$work/said" >&2; exit 1; }
  rm -f "$trace.edits.json"
  keep "guide-$name"
}

# wide NAME ACTIONS FILE [OPTION...]
wide () {
  name=$1 actions=$2
  shift 2
  "$root/tests/xrun" "$viewer" --screenshot "$work/shot.png" --size 1600x1000 --actions "$actions" "$@"
  keep "viewer-$name"
}

# small NAME [FILE...]: nothing open, or an error, which is no success.
small () {
  name=$1
  shift
  "$root/tests/xrun" "$viewer" --screenshot "$work/shot.png" --size 1280x720 "$@" || test -s "$work/shot.png"
  keep "viewer-$name"
}

trace=$work/finetune-oom.pickle.gz
cp "$root/samples/finetune-oom.pickle.gz" "$trace"

hole="win.go-peak,win.go-hole"
group="$hole,win.select-group"
moved="$group,win.pin-up-push,win.pin-up-push,win.pin-here"
conflict="win.go-peak,win.go-hole,win.pin-at(uint64 2147483648),win.previous-block,win.pin-at(uint64 2147483648),win.fit"

shot hole "$hole"
shot hole-dark "$hole" --dark
shot groups "$group,win.side('groups')"
shot groups-dark "$group,win.side('groups')" --dark
shot place "$group,win.pin-up-push,win.pin-up-push" --dark
shot bar "$group,win.edit-group" --dark
shot planning "$moved" --at-once
shot done "$moved,win.side('edits')"
shot done-dark "$moved,win.side('edits')" --dark
shot plans "$moved,win.side('plans')"
shot plans-dark "$moved,win.side('plans')" --dark
shot conflict "$conflict,win.side('edits')"
shot conflict-dark "$conflict,win.side('edits')" --dark
# One that takes a while to open.
trace=$work/run.csv
awk 'BEGIN {
  print "seq,time_us,action,id,size_bytes,stream,iteration,phase,module"
  for (i = 0; i < 600000; i++) print i "," i * 10 "," (i % 2 ? "free" : "alloc") "," int(i / 2) ",1048576,0,0,forward,a"
}' >"$trace"
shot loading "" --at-once

# Of the plan on both sides, since a picture is zoomed at the left one's block.
zoom=win.zoom-in,win.zoom-in,win.zoom-in,win.zoom-in
trace=$work/fsdp1-7b-rank3of16.pickle.gz
cp "$root/samples/fsdp1-7b-rank3of16.pickle.gz" "$trace"
shot streams "win.across,win.colour('stream'),win.show-left(uint32 1),win.side('plans'),win.select(uint32 15124),$zoom,$zoom"

wide light "" "$root/samples/finetune-oom.pickle.gz"
wide dark "win.colour('phase')" "$root/samples/fsdp1-7b-rank3of16.pickle.gz" --dark
wide table "win.axis('events'),win.table" "$root/samples/finetune-oom.pickle.gz" --stacked
small empty
gzip -dc "$root/samples/finetune-oom.pickle.gz" | head -c 1000000 >"$half"
rm -f "$work/shot.png"
small error "$half"
"$1/cli/tessera" render "$root/samples/finetune-oom.pickle.gz" -o "$work/shot.png"
keep render

# A run that followed a plan, with an evaluation and a logger that the plan did not know.
if [ -n "$TESSERA_TEST_PYTHON" ]; then
  dry_run () {
    options=$1
    shift
    (cd "$work" && "$tessera" dry-run --steps=3 $options -- "$TESSERA_TEST_PYTHON" \
      "$root/examples/gpt.py" --steps 4 "$@") >"$work/said" 2>&1 || { cat "$work/said" >&2; exit 1; }
  }
  tessera=$(cd "$1" && pwd)/cli/tessera
  dry_run "-o gpt.tsr"
  dry_run "--plan=gpt.tsp -o gpt-planned.tsr" --evaluate-every 1 --log-norms
  wide followed "" "$work/gpt-planned.tsr"
  "$tessera" dry-run --world 16 --rank 12 --events 0 -o "$work/pipeline.tsr" -- "$TESSERA_TEST_PYTHON" \
    "$root/examples/pipeline.py" >"$work/said" 2>&1
  "$tessera" render "$work/pipeline.tsr" --across-streams --size 1440x720 -o "$work/shot.png"
  keep guide-ranks
  for changed in before after; do
    option=
    [ $changed = before ] || option=--recompute
    dry_run "-o $changed.tsr --events=0" --size medium $option
    "$tessera" render --no-plan "$work/$changed.tsr" --size 1000x640 -o "$work/shot.png"
    keep guide-$changed
  done
fi
if [ -n "$BROWSER" ]; then
  "$1/cli/tessera" report "$root/samples/finetune-oom.pickle.gz" -o "$work/report.html"
  "$BROWSER" --no-sandbox --disable-gpu --hide-scrollbars --window-size=1280,1500 \
    --screenshot="$work/shot.png" "file://$work/report.html" >"$work/said" 2>&1 ||
    { cat "$work/said" >&2; exit 1; }
  keep report
fi
ls -l "$out"/*.png
