package main

import (
	"fmt"
	"runtime/debug"
)

// version is set by the linker where a release is built:
// go build -ldflags "-X main.version=v1.2.3".
var version string

type versionCmd struct{}

// Run prints the version in one line.
func (*versionCmd) Run(p *program) error { //nolint:unparam // the shape that every command has
	info, _ := debug.ReadBuildInfo()
	fmt.Fprintln(p.stdout, "slotkeeper", describe(version, info))
	return nil
}

// describe says what was built: the linker's version, else the module's, and
// the commit where the build knew it.
func describe(version string, info *debug.BuildInfo) string {
	if info == nil {
		info = &debug.BuildInfo{}
	}
	if version == "" {
		version = info.Main.Version
	}
	if version == "" {
		version = "(devel)"
	}
	set := map[string]string{}
	for _, s := range info.Settings {
		set[s.Key] = s.Value
	}
	if commit := set["vcs.revision"]; commit != "" {
		version += " commit " + commit
		if set["vcs.modified"] == "true" {
			version += " with changes"
		}
	}
	if info.GoVersion != "" {
		version += " " + info.GoVersion
	}
	return version
}
