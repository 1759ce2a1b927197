package httpapi

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"
)

//go:embed docs.html
var docsHTML string

// The parts of an OpenAPI document that the page shows. encoding/json matches
// the names without regard to case.
type (
	docSchema struct {
		Ref         string `json:"$ref"`
		Type        any
		Description string
		Format      string
		Enum        []string
		Minimum     *int64
		Maximum     *int64
		MinLength   *int
		MaxLength   *int
		Default     any
		Examples    []any
		Required    []string
		Properties  map[string]docSchema
		Items       *docSchema
		OneOf       []docSchema
		AllOf       []docSchema
	}
	docParameter struct {
		Ref         string `json:"$ref"`
		Name        string
		In          string
		Required    bool
		Description string
		Schema      docSchema
	}
	docBody struct {
		Ref         string `json:"$ref"`
		Description string
		Content     map[string]struct{ Schema docSchema }
	}
	docOperation struct {
		OperationID string
		Tags        []string
		Summary     string
		Description string
		Parameters  []docParameter
		RequestBody docBody
		Responses   map[string]docBody
	}
	docDocument struct {
		Info       struct{ Title, Description string }
		Tags       []struct{ Name, Description string }
		Paths      map[string]map[string]json.RawMessage
		Components struct {
			Schemas    map[string]docSchema
			Parameters map[string]docParameter
		}
	}
)

// docCall is one call as the page shows it.
type docCall struct {
	Method, Path string
	docOperation
	Example string // of a body
}

// docsPage renders an OpenAPI document for people. Errors: it is not one.
func docsPage(document []byte) ([]byte, error) {
	var doc docDocument
	if err := json.Unmarshal(document, &doc); err != nil {
		return nil, fmt.Errorf("docs page: %w", err)
	}
	calls := map[string][]docCall{} // by tag
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		of, err := doc.calls(path)
		if err != nil {
			return nil, fmt.Errorf("docs page: %s: %w", path, err)
		}
		for _, c := range of {
			calls[c.Tags[0]] = append(calls[c.Tags[0]], c)
		}
	}
	page, err := template.New("docs").Funcs(template.FuncMap{
		"shape": shape, "nameOf": nameOf, "has": slices.Contains[[]string], "split": strings.Split,
	}).Parse(docsHTML)
	if err != nil {
		return nil, fmt.Errorf("docs page: %w", err)
	}
	var rows []map[string]any
	for _, p := range problems {
		rows = append(rows, map[string]any{"Code": p.code, "Status": p.status, "Title": p.title})
	}
	var b bytes.Buffer
	if err := page.Execute(&b, map[string]any{"Doc": doc, "Calls": calls, "Problems": rows}); err != nil {
		return nil, fmt.Errorf("docs page: %w", err)
	}
	return b.Bytes(), nil
}

// calls returns what a path has, in the order in which one uses it.
func (doc *docDocument) calls(path string) ([]docCall, error) {
	item := doc.Paths[path]
	var shared []docParameter
	if raw, ok := item["parameters"]; ok {
		if err := json.Unmarshal(raw, &shared); err != nil {
			return nil, err
		}
	}
	var calls []docCall
	for _, method := range []string{"get", "post", "patch", "delete"} {
		raw, ok := item[method]
		if !ok {
			continue
		}
		c := docCall{Method: strings.ToUpper(method), Path: path}
		if err := json.Unmarshal(raw, &c.docOperation); err != nil {
			return nil, err
		}
		c.Parameters = append(slices.Clone(shared), c.Parameters...)
		for i, p := range c.Parameters {
			if p.Ref != "" {
				c.Parameters[i] = doc.Components.Parameters[nameOf(p.Ref)]
			}
		}
		if body, ok := c.RequestBody.Content[jsonType]; ok {
			c.Example = doc.example(body.Schema)
		}
		calls = append(calls, c)
	}
	return calls, nil
}

// example writes a body with the fields that must be there.
func (doc *docDocument) example(s docSchema) string {
	s = doc.Components.Schemas[nameOf(s.Ref)]
	names := s.Required
	if len(names) == 0 {
		names = slices.Sorted(maps.Keys(s.Properties))[:1]
	}
	body := map[string]any{}
	for _, name := range names {
		switch p := s.Properties[name]; {
		case len(p.Examples) > 0:
			body[name] = p.Examples[0]
		case len(p.Enum) > 0:
			body[name] = p.Enum[0]
		case p.Minimum != nil:
			body[name] = *p.Minimum
		}
	}
	b, _ := json.Marshal(body) // texts and numbers: it cannot fail
	return string(b)
}

// nameOf is the last part of a reference: a schema's or parameter's name.
func nameOf(ref string) string { return ref[strings.LastIndexByte(ref, '/')+1:] }

// shape says in a few words what values a schema takes.
func shape(s docSchema) string {
	var parts []string
	switch t := s.Type.(type) {
	case string:
		parts = append(parts, cmp.Or(map[string]string{"date-time": "time"}[s.Format], t))
	case []any:
		for i, each := range t {
			parts = append(parts, strings.Repeat("or ", min(i, 1))+fmt.Sprint(each))
		}
	}
	if s.Ref != "" {
		parts = append(parts, nameOf(s.Ref))
	}
	if len(s.Enum) > 0 && len(s.Enum) < 6 {
		parts = []string{strings.Join(s.Enum, " or ")}
	}
	if s.Minimum != nil && s.Maximum != nil {
		parts = append(parts, fmt.Sprintf("%d to %d", *s.Minimum, *s.Maximum))
	}
	if s.Items != nil {
		parts = append(parts, "of "+shape(*s.Items))
	}
	for i, one := range s.OneOf {
		parts = append(parts, strings.Repeat("or ", min(i, 1))+"{"+strings.Join(slices.Sorted(maps.Keys(one.Properties)), ", ")+"}")
	}
	if s.Default != nil {
		parts = append(parts, fmt.Sprintf("(default %v)", s.Default))
	}
	return strings.Join(parts, " ")
}
