package httpapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// obj is a JSON object of the document.
type obj map[string]any

// document makes the OpenAPI 3.1 document from the routes and the problems, so
// that a call cannot be served and not be in it.
func document(publicURL string) ([]byte, error) {
	paths := obj{}
	for _, r := range routes() {
		path := documentPath(r.path)
		item, ok := paths[path].(obj)
		if !ok {
			item = obj{}
			paths[path] = item
			if params := pathParameters(path); len(params) > 0 {
				item["parameters"] = params
			}
		}
		item[strings.ToLower(r.method)] = operation(&r)
	}
	url := publicURL
	if url == "" {
		url = "/"
	}
	doc := obj{
		"openapi": "3.1.0",
		"info":    obj{"title": "Slotkeeper", "version": "1", "description": introduction},
		"servers": []obj{{"url": url}},
		"tags":    tags,
		"paths":   paths,
		"components": obj{
			"schemas":    schemas(),
			"parameters": queryParameters(),
			"headers":    answerHeaders(),
			"responses":  obj{"Unread": problemResponse([]string{"headers-too-large", "malformed-request", "request-timeout"})},
		},
	}
	b, err := json.MarshalIndent(doc, "", " ")
	if err != nil {
		return nil, fmt.Errorf("OpenAPI document: %w", err)
	}
	return b, nil
}

const introduction = `Slots with a capacity, reservations and holds, resources and bookings of them.

Bodies are JSON in UTF-8. Times are RFC 3339 with an offset; answers are in UTC. Ranges are half-open: 09:00–09:30 and 09:30–10:00 do not overlap. A number such as 5.0 counts as the integer 5; null is never a value. Path segments are percent-encoded once.

A refusal is a problem (RFC 9457) with a code to switch on; its type is the URL of a page that explains it. Beside those listed with a call, a request that cannot be read is answered with malformed-request (400), request-timeout (408) or headers-too-large (431), an unknown path with not-found (404), and a method that a path lacks with method-not-allowed (405) and Allow. HEAD works wherever GET does, OPTIONS everywhere.

Every answer has an X-Request-Id: the client's, if it sent 1 to 64 of the characters A–Z a–z 0–9 . _ -, or a new one.`

var tags = []obj{
	{"name": slotsTag, "description": "A slot is a range of time that up to capacity users may reserve."},
	{"name": reservationsTag, "description": "A reservation is one user's place in one slot; a hold is one that expires unless it is confirmed."},
	{"name": resourcesTag, "description": "A resource is a practitioner, a room, a device, a pitch: something that one party has at a time."},
	{"name": bookingsTag, "description": "A booking takes a resource for any range."},
	{"name": operationsTag, "description": "For those who run the service."},
}

var fiberParameter = regexp.MustCompile(`:(\w+)`)

// documentPath writes a route's path as the document has it: /slots/{id}.
func documentPath(path string) string {
	path = strings.ReplaceAll(path, ":user", ":user_id")
	return fiberParameter.ReplaceAllString(path, "{$1}")
}

func pathParameters(path string) []obj {
	about := map[string]obj{
		"id":      {"description": "The id, a positive 64-bit integer. Anything else is answered as an id that does not exist.", "schema": obj{"type": "integer", "format": "int64", "minimum": 1}},
		"user_id": {"description": "The user's id, percent-encoded once: x%2Fy for x/y.", "schema": obj{"type": "string"}},
		"key":     {"description": "The resource's key, percent-encoded once.", "schema": obj{"type": "string"}},
		"code":    {"description": "The code of a problem.", "schema": obj{"type": "string"}},
	}
	var params []obj
	for _, m := range regexp.MustCompile(`\{(\w+)\}`).FindAllStringSubmatch(path, -1) {
		p := obj{"name": m[1], "in": "path", "required": true}
		maps.Copy(p, about[m[1]])
		params = append(params, p)
	}
	return params
}

func operation(r *route) obj {
	op := obj{"operationId": r.id, "tags": []string{r.tag}, "summary": r.summary, "responses": responses(r)}
	if r.about != "" {
		op["description"] = r.about
	}
	var params []obj
	for _, name := range r.query {
		ref := "#/components/parameters/" + name
		if slices.Contains(r.needed, name) {
			ref += "-needed"
		}
		params = append(params, obj{"$ref": ref})
	}
	if r.ifMatch {
		params = append(params, obj{"name": "If-Match", "in": "header", "required": false, "schema": obj{"type": "string"},
			"description": `The ETag of the version that the change is meant for, such as "4"; also a list of tags, or * for any version. Weak tags never match. PATCH without it is refused.`})
	}
	if len(params) > 0 {
		op["parameters"] = params
	}
	if r.body != "" {
		op["requestBody"] = obj{"required": true, "content": obj{jsonType: obj{"schema": schemaRef(r.body)}}}
	}
	return op
}

func schemaRef(name string) obj { return obj{"$ref": "#/components/schemas/" + name} }

// responses are the success and the problems, one entry a status.
func responses(r *route) obj {
	status := r.status
	if status == 0 {
		status = 200
	}
	all := obj{strconv.Itoa(status): success(r, status)}
	byStatus := map[int][]string{}
	for _, code := range codes(r) {
		p := find(code)
		byStatus[p.status] = append(byStatus[p.status], code)
	}
	for status, codes := range byStatus {
		all[strconv.Itoa(status)] = problemResponse(codes)
	}
	all["4XX"] = obj{"$ref": "#/components/responses/Unread"}
	return all
}

func success(r *route, status int) obj {
	headers := obj{"X-Request-Id": obj{"$ref": "#/components/headers/X-Request-Id"}}
	for _, name := range r.headers {
		headers[name] = obj{"$ref": "#/components/headers/" + name}
	}
	res := obj{"description": descriptions[status], "headers": headers}
	switch {
	case r.answer == "":
	case strings.Contains(r.answer, "/"):
		res["content"] = obj{r.answer: obj{"schema": obj{"type": "string"}}}
	default:
		res["content"] = obj{jsonType: obj{"schema": schemaRef(r.answer)}}
	}
	return res
}

var descriptions = map[int]string{200: "Done.", 201: "Created.", 204: "Done; nothing to say.", 302: "Look there."}

// codes adds to a call's own problems those that follow from its shape.
func codes(r *route) []string {
	all := slices.Clone(r.problems)
	if r.public {
		return append(all, "internal")
	}
	all = append(all, "validation-failed", "busy", "database-unavailable", "internal")
	if r.method != "GET" {
		all = append(all, "body-too-large")
	}
	if r.method == "POST" || r.method == "PATCH" {
		all = append(all, "unsupported-media-type")
	}
	if r.method == "POST" || r.method == "PATCH" || strings.Contains(r.path, ":user") || strings.Contains(r.path, ":key") {
		all = append(all, "malformed-request")
	}
	return all
}

func problemResponse(codes []string) obj {
	slices.Sort(codes)
	headers := obj{"X-Request-Id": obj{"$ref": "#/components/headers/X-Request-Id"}}
	for _, code := range codes {
		if find(code).retryAfter != "" {
			headers["Retry-After"] = obj{"$ref": "#/components/headers/Retry-After"}
		}
	}
	code := obj{"type": "object", "properties": obj{"code": obj{"enum": codes}}}
	return obj{
		"description": strings.Join(codes, ", "),
		"headers":     headers,
		"content":     obj{problemType: obj{"schema": obj{"allOf": []obj{schemaRef("Problem"), code}}}},
	}
}
