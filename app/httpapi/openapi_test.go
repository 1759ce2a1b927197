package httpapi

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The document has the routes that fiber has, no more and no fewer. That the
// answers are true to it is checked by every test that uses bench.do.
func TestDocumentHasEveryRoute(t *testing.T) {
	b := start(t)
	served := map[string][]string{}
	for _, stack := range b.srv.fiber.Stack() {
		for _, r := range stack {
			path := documentPath(r.Path)
			if path != "/*" && !slices.Contains([]string{"HEAD", "OPTIONS", "PUT", "CONNECT", "TRACE"}, r.Method) {
				served[path] = append(served[path], r.Method)
			}
		}
	}
	documented := b.contract.Paths()
	require.Len(t, served, len(documented))
	for path, methods := range documented {
		for _, m := range methods {
			require.Contains(t, served[path], m, path)
		}
	}
	a := b.do("GET", "/openapi.json", "")
	require.Equal(t, "3.1.0", a.json["openapi"])
	require.Equal(t, "application/json", a.Header.Get("Content-Type"))
}

// Each call says what it does, and has an id of its own.
func TestDocumentIsComplete(t *testing.T) {
	ids := map[string]bool{}
	for _, r := range routes() {
		require.NotEmpty(t, r.summary, r.path)
		require.False(t, ids[r.id], r.id)
		ids[r.id] = true
		require.Equal(t, r.list != nil, r.query != nil, r.path)
		require.Equal(t, r.list == nil, r.handle != nil, r.path)
		for _, name := range r.query {
			require.Contains(t, queryParameters(), name)
		}
		for _, code := range r.problems {
			find(code) // panics for one that is not in the table
		}
		for _, schema := range []string{r.body, r.answer} {
			if schema != "" && !strings.Contains(schema, "/") {
				require.Contains(t, schemas(), schema)
			}
		}
	}
	for _, p := range problems {
		general := []string{"not-found", "method-not-allowed", "headers-too-large", "request-timeout"}
		used := slices.ContainsFunc(routes(), func(r route) bool { return slices.Contains(codes(&r), p.code) })
		require.True(t, used || slices.Contains(general, p.code), "%s is documented with no call", p.code)
	}
}

// The page shows each call and schema and loads nothing from elsewhere.
func TestDocsPage(t *testing.T) {
	b := start(t)
	a := b.do("GET", "/docs", "")
	require.Equal(t, "text/html; charset=utf-8", a.Header.Get("Content-Type"))
	for _, r := range routes() {
		require.Contains(t, a.body, `id="`+r.id+`"`)
		require.Contains(t, a.body, documentPath(r.path))
	}
	for _, p := range problems {
		require.Contains(t, a.body, `href="problems/`+p.code+`"`)
	}
	require.NotRegexp(t, regexp.MustCompile(`(src|href)="(https?:)?//`), a.body)
	require.NotContains(t, a.body, "<script")
	require.NotContains(t, a.body, "ZgotmplZ")
	require.NotContains(t, a.body, "&lt;nil&gt;")
	var ids []string
	for _, m := range regexp.MustCompile(`id="([^"]+)"`).FindAllStringSubmatch(a.body, -1) {
		ids = append(ids, m[1])
	}
	for _, m := range regexp.MustCompile(`href="#([^"]+)"`).FindAllStringSubmatch(a.body, -1) {
		require.Contains(t, ids, m[1], "a link that leads nowhere")
	}
	for _, m := range regexp.MustCompile(`<pre>(.+?)</pre>`).FindAllStringSubmatch(a.body, -1) {
		require.True(t, json.Valid([]byte(strings.ReplaceAll(m[1], "&#34;", `"`))), m[1])
	}
	root := b.do("GET", "/", "")
	require.Equal(t, 302, root.StatusCode)
	require.Equal(t, "/docs", root.Header.Get("Location"))
	_, err := docsPage([]byte("{"))
	require.Error(t, err)
}
