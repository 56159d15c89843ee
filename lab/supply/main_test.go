package main

import (
	"bytes"
	"encoding/json"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestClassify(t *testing.T) {
	const bsd2 = "Redistributions in binary form must reproduce the above\ncopyright notice"
	for _, row := range []struct {
		text string
		want []string
	}{
		{"The MIT License\n\nPermission is hereby granted, free of charge, to any person\nobtaining a copy", []string{"MIT"}},
		{"  Apache License\n  Version 2.0, January 2004", []string{"Apache-2.0"}},
		{bsd2, []string{"BSD-2-Clause"}},
		{bsd2 + "\n * Neither the name of Google", []string{"BSD-3-Clause"}},
		{"Mozilla Public License Version 2.0 … GNU Affero General Public License", []string{"MPL-2.0"}},
		{"GNU AFFERO GENERAL PUBLIC LICENSE\nVersion 3", []string{"AGPL-3.0"}},
		{"All rights reserved.", nil},
	} {
		assert.Equal(t, row.want, classify(row.text), row.text)
	}
}

// A module without a known licence, or with one that binds the whole program, fails.
func TestLicences(t *testing.T) {
	good := []module{{Path: "a", Version: "v1", Licences: []string{"MIT"}}}
	require.NoError(t, licences(good, &bytes.Buffer{}))
	for _, bad := range [][]string{nil, {"AGPL-3.0"}, {"Apache-2.0", "GPL-3.0"}} {
		require.ErrorContains(t, licences(append(good, module{Path: "example.com/b", Licences: bad}), &bytes.Buffer{}), "example.com/b")
	}
}

func TestSBOM(t *testing.T) {
	var once, again bytes.Buffer
	info := &debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Path: "waymark", Version: "v1.0.0+dirty"}}
	modules := []module{{Path: "example.com/b", Version: "v1.2.3", Sum: "h1:x", Licences: []string{"MIT"}}}
	require.NoError(t, sbom("main.go", info, modules, &once))
	require.NoError(t, sbom("main.go", info, modules, &again))
	assert.Equal(t, once.String(), again.String())
	var got struct {
		BOMFormat  string
		Components []struct{ Purl string }
		Metadata   struct{ Component struct{ Purl string } }
	}
	require.NoError(t, json.Unmarshal(once.Bytes(), &got))
	assert.Equal(t, "CycloneDX", got.BOMFormat)
	assert.Equal(t, "pkg:golang/waymark@v1.0.0%2Bdirty", got.Metadata.Component.Purl)
	assert.Equal(t, "pkg:golang/example.com/b@v1.2.3", got.Components[1].Purl)
}
