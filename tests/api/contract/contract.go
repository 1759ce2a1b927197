// Package contract holds HTTP answers against an OpenAPI document, for the
// tests of whatever serves one.
package contract

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
)

// Contract is a document that answers are held against.
type Contract struct {
	doc    *openapi3.T
	router routers.Router
}

// New reads an OpenAPI 3.1 document. Errors: it is not a valid one.
func New(document []byte) (*Contract, error) {
	doc, err := openapi3.NewLoader().LoadFromData(document)
	if err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	if err := doc.Validate(context.Background(), openapi3.IsOpenAPI31OrLater()); err != nil {
		return nil, fmt.Errorf("validate: %w", err)
	}
	doc.Servers = nil // the tests' servers are elsewhere
	router, err := gorillamux.NewRouter(doc)
	if err != nil {
		return nil, fmt.Errorf("routes: %w", err)
	}
	return &Contract{doc, router}, nil
}

// Paths returns the paths of the document and their methods.
func (c *Contract) Paths() map[string][]string {
	all := map[string][]string{}
	for path, item := range c.doc.Paths.Map() {
		for method := range item.Operations() {
			all[path] = append(all[path], method)
		}
	}
	return all
}

// Check says what is wrong with an answer whose body was read already. Its
// path must be one of the document, unless it is a 404 or 405; the status, the
// media type, the headers and the body must be those of the call.
func (c *Contract) Check(method string, target *url.URL, res *http.Response, body []byte) error {
	if res.Header.Get("X-Request-Id") == "" {
		return fmt.Errorf("%s %s: no X-Request-Id", method, target.Path)
	}
	req := &http.Request{Method: method, URL: target, Header: http.Header{}}
	route, params, err := c.router.FindRoute(req)
	if err != nil {
		return c.outside(method, target, res, err)
	}
	if res.StatusCode != http.StatusNoContent && method != http.MethodHead && route.Operation.Responses.Status(res.StatusCode) == nil {
		return fmt.Errorf("%s %s: status %d is not documented: %s", method, route.Path, res.StatusCode, body)
	}
	if err := sameType(route.Operation, res); err != nil {
		return fmt.Errorf("%s %s: %w", method, route.Path, err)
	}
	in := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: req, PathParams: params, Route: route},
		Status:                 res.StatusCode,
		Header:                 res.Header,
		Body:                   io.NopCloser(bytes.NewReader(body)),
		Options: &openapi3filter.Options{
			IncludeResponseStatus: true,
			ExcludeResponseBody:   !strings.Contains(res.Header.Get("Content-Type"), "json"),
		},
	}
	if err := openapi3filter.ValidateResponse(context.Background(), in); err != nil {
		return fmt.Errorf("%s %s: %d %s: %w", method, route.Path, res.StatusCode, body, err)
	}
	return nil
}

// outside judges the answer to a request that is no call of the document.
func (c *Contract) outside(method string, target *url.URL, res *http.Response, why error) error {
	switch {
	case method == http.MethodHead, method == http.MethodOptions,
		res.StatusCode == http.StatusNotFound, res.StatusCode == http.StatusMethodNotAllowed:
		return nil
	}
	return fmt.Errorf("%s %s: answered %d, and the document has no such call: %w", method, target.Path, res.StatusCode, why)
}

// sameType says whether the answer has a media type that is documented.
func sameType(op *openapi3.Operation, res *http.Response) error {
	documented := op.Responses.Status(res.StatusCode)
	given := res.Header.Get("Content-Type")
	if documented == nil {
		return nil
	}
	if len(documented.Value.Content) == 0 {
		if given != "" {
			return fmt.Errorf("%d has a body of type %q, which is not documented", res.StatusCode, given)
		}
		return nil
	}
	media, _, _ := strings.Cut(given, ";")
	if documented.Value.Content[media] == nil {
		return fmt.Errorf("%d has type %q, which is not documented", res.StatusCode, given)
	}
	return nil
}
