#!/bin/sh
# Validates the files of packaging with the tools that are here, and says what was not checked. Run it from the root
# of the repository: make package. goreleaser, nfpm and helm are looked for in PATH; TOOLS=run fetches and
# builds them, and has goreleaser build the programs of all platforms, which takes minutes.
# check.sh version VERSION only checks that all files name this version.
set -eu
out=packaging
failed=0
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

say() { printf '%-12s %s\n' "$1" "$2"; }

# check NAME COMMAND…: runs a check, and shows its output only where it fails.
check() {
	name=$1
	shift
	if "$@" >"$tmp/log" 2>&1; then say ok "$name"; else
		say FAILED "$name"
		cat "$tmp/log"
		failed=1
	fi
}

# with TOOL MODULE: the command of a tool in $tool, empty where it is not here.
with() {
	tool=
	if command -v "$1" >/dev/null; then tool=$1; elif [ "${TOOLS:-}" = run ]; then tool="env GOWORK=off GOFLAGS= go run $2"; fi
	[ -n "$tool" ] || say "not checked" "$3: no $1 in PATH (TOOLS=run builds it)"
	[ -n "$tool" ]
}

# versions VERSION: nfpm.yaml and the tag of a release have the version; the formats of the other files want a copy.
versions() {
	! grep -rnE '([vV]ersion"?[:=] *"?|VERSION=|waymark:)v?[0-9]+[.][0-9]+[.][0-9]' "$out" docs/rebuild.md | grep -vwF -e "$1" -e "v$1"
}

version=$(sed -n 's/^version: //p' "$out/nfpm/nfpm.yaml")
check "version ${2:-$version} in all files" versions "${2:-$version}"
[ "${1:-}" != version ] || exit $failed

if with goreleaser github.com/goreleaser/goreleaser/v2@v2.15.1 goreleaser.yaml; then
	check "goreleaser.yaml (goreleaser check)" $tool check "$out/goreleaser.yaml"
	if [ "${TOOLS:-}" = run ]; then
		(cat "$out/goreleaser.yaml" && echo "dist: $tmp/dist") >"$tmp/goreleaser.yaml"
		check "programs of six platforms (goreleaser build --snapshot)" $tool build --snapshot --clean --skip=before --parallelism 1 -f "$tmp/goreleaser.yaml"
	else
		say "not checked" "programs of six platforms (TOOLS=run builds them)"
	fi
fi
if with nfpm github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.43.0 "deb, rpm"; then
	for kind in deb rpm; do check "$kind (nfpm pkg)" env GOARCH=$(go env GOARCH) $tool pkg -f "$out/nfpm/nfpm.yaml" -p $kind -t "$tmp"; done
	if command -v dpkg >/dev/null; then
		check "deb (unpacked, run)" sh -c "dpkg -x $tmp/*.deb $tmp/deb && $tmp/deb/usr/bin/waymark version | grep -q '^waymark v$version ' && test -f $tmp/deb/usr/lib/systemd/user/waymark.service && test -f $tmp/deb/etc/waymark/waymark.env"
	fi
fi
if with helm helm.sh/helm/v3/cmd/helm@v3.22.0 "Helm chart"; then
	check "Helm chart (helm lint)" $tool lint --strict "$out/helm/waymark"
	check "Helm chart (helm template, all on)" $tool template x "$out/helm/waymark" --set networkPolicy.enabled=true,serviceMonitor.enabled=true,podDisruptionBudget.enabled=true,createKey=false
	fleet="--set fleet.store=postgres://waymark@db/waymark,fleet.replicas=3,networkPolicy.enabled=true,podDisruptionBudget.enabled=true"
	check "Helm chart (fleet)" sh -c "$tool template x $out/helm/waymark $fleet | grep -q 'value: .postgres:'"
	check "Helm chart (several replicas without a database are refused)" sh -c "! $tool template x $out/helm/waymark --set fleet.replicas=2,createKey=false"
	check "Helm chart (unknown values are refused)" sh -c "! $tool template x $out/helm/waymark --set colour=red"
fi
if command -v systemd-analyze >/dev/null; then
	sed "s|/usr/bin/waymark|$PWD/bin/waymark|" "$out/systemd/waymark.service" >"$tmp/waymark.service"
	sed "s|/usr/bin/waymark|$PWD/bin/waymark|" "$out/systemd/waymark-user.service" >"$tmp/waymark-user.service"
	check "waymark-user.service (systemd-analyze verify)" env XDG_RUNTIME_DIR="$tmp" systemd-analyze verify --user --man=no "$tmp/waymark-user.service"
	check "waymark.service (systemd-analyze verify)" systemd-analyze verify --man=no "$tmp/waymark.service"
	check "waymark.service (exposure of at most 2.0)" systemd-analyze security --offline=true --threshold=20 "$tmp/waymark.service"
fi
for shell in bash zsh fish; do
	file=$(ls bin/completions/*waymark* | grep -E "$(case $shell in bash) echo '\.bash$' ;; zsh) echo '/_waymark$' ;; fish) echo '\.fish$' ;; esac)")
	if command -v $shell >/dev/null; then check "completion of $shell ($shell -n)" $shell -n "$file"; else say "not checked" "completion of $shell: no $shell"; fi
done
if command -v npm >/dev/null; then
	if [ "${TOOLS:-}" = run ]; then
		mkdir -p "$tmp/mcpb/server"
		cp "$out/mcpb/manifest.json" "$tmp/mcpb"
		cp bin/waymark "$tmp/mcpb/server"
		check "MCPB bundle (mcpb pack)" npx -y @anthropic-ai/mcpb@2 pack "$tmp/mcpb" "$tmp/waymark.mcpb"
		for file in marketplace plugin; do
			check "Claude Code $file (claude plugin validate)" npx -y @anthropic-ai/claude-code@2 plugin validate "$out/claude-code/.claude-plugin/$file.json"
		done
	else
		say "not checked" "MCPB bundle, Claude Code plugin (TOOLS=run fetches @anthropic-ai/mcpb and @anthropic-ai/claude-code)"
	fi
fi
for file in "Dockerfiles: no build here" "server.json: no validator"; do say "not checked" "$file"; done
exit $failed
