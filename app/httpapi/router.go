package httpapi

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
)

// route is one call: what it does and what the document says of it.
type route struct {
	method string
	path   string // as fiber writes it: /slots/:id
	call
	handle func(s *Server, c *fiber.Ctx) error
	list   func(s *Server, c *fiber.Ctx, q *query) error // instead of handle, if it has a query
	public bool                                          // a page or probe: takes any query
	manyAt string                                        // the field whose items an app.ManyError counts
}

// Pseudo routes, for what no route of the table answers.
var (
	noRoute     = &route{path: "(none)", public: true}   // unknown path, or method that it lacks
	unreadRoute = &route{path: "(unread)", public: true} // refused before there was a request
)

func (s *Server) register() {
	allowed := map[string][]string{}
	var paths []string
	for _, r := range routes() {
		if allowed[r.path] == nil {
			paths = append(paths, r.path)
		}
		s.fiber.Add(r.method, r.path, s.serve(&r))
		allowed[r.path] = append(allowed[r.path], r.method)
		if r.method == fiber.MethodGet {
			s.fiber.Add(fiber.MethodHead, r.path, s.serve(&r))
			allowed[r.path] = append(allowed[r.path], fiber.MethodHead)
		}
	}
	for _, path := range paths {
		s.fiber.All(path, s.serve(otherMethods(path, append(allowed[path], fiber.MethodOptions))))
	}
	nowhere := *noRoute
	nowhere.handle = func(*Server, *fiber.Ctx) error { return refuse("not-found", "") }
	s.fiber.All("/*", s.serve(&nowhere))
}

// otherMethods answers OPTIONS, and 405 for whatever else a path lacks.
func otherMethods(path string, methods []string) *route {
	allow := strings.Join(methods, ", ")
	return &route{path: path, public: true, handle: func(_ *Server, c *fiber.Ctx) error {
		c.Set(fiber.HeaderAllow, allow)
		if c.Method() == fiber.MethodOptions {
			c.Status(fiber.StatusNoContent)
			return nil
		}
		return refuse("method-not-allowed", "")
	}}
}

// serve wraps a route's handler in what every answer has.
func (s *Server) serve(r *route) fiber.Handler {
	seen := s.metrics.route(documentPath(r.path))
	return func(c *fiber.Ctx) error {
		start := time.Now()
		s.headers(c)
		err := s.guard(r, c)
		s.finish(r, seen, c, start, err)
		return nil
	}
}

// guard runs the handler and turns a panic into an error.
func (s *Server) guard(r *route, c *fiber.Ctx) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	raw := c.Request().URI().QueryString()
	if r.list == nil {
		if len(raw) > 0 && !r.public {
			if err := readQuery(string(raw), nil).err(); err != nil {
				return err
			}
		}
		return r.handle(s, c)
	}
	return r.list(s, c, readQuery(string(raw), r.query))
}

// headers sets what every answer carries.
func (s *Server) headers(c *fiber.Ctx) {
	h := &c.Response().Header
	h.SetBytesV(fiber.HeaderXRequestID, requestID(c.Request().Header.Peek(fiber.HeaderXRequestID)))
	h.Set(fiber.HeaderCacheControl, "no-store")
	h.Set(fiber.HeaderXContentTypeOptions, "nosniff")
	if s.draining.Load() {
		h.SetConnectionClose() // the client's next request goes to another process
	}
}

// requestID keeps the client's id if it is sane and makes one otherwise.
func requestID(given []byte) []byte {
	if len(given) >= 1 && len(given) <= 64 && !slices.ContainsFunc(given, notOfID) {
		return given
	}
	var b [16]byte // it only has to differ, not to be hard to guess
	binary.NativeEndian.PutUint64(b[:8], rand.Uint64())
	binary.NativeEndian.PutUint64(b[8:], rand.Uint64())
	return hex.AppendEncode(nil, b[:])
}

func notOfID(b byte) bool {
	switch {
	case b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z', b >= '0' && b <= '9':
		return false
	}
	return b != '.' && b != '_' && b != '-'
}

// finish answers an error, counts the request and logs it.
func (s *Server) finish(r *route, seen *routeMetrics, c *fiber.Ctx, start time.Time, err error) {
	if err != nil {
		if code := s.fail(c, err, r.manyAt); code != "" {
			s.metrics.refused(code)
		}
	}
	status, took := c.Response().StatusCode(), time.Since(start)
	seen.answered(method(c), status, took)
	level := slog.LevelInfo
	if status >= 500 {
		level = slog.LevelWarn
	}
	if s.log.Enabled(context.Background(), level) {
		s.logRequest(r, c, level, took, err)
	}
}

// method returns the request's method as a constant: c.Method() lies in a
// buffer that fiber uses again, and the metrics keep their labels.
func method(c *fiber.Ctx) string {
	for _, m := range fiber.DefaultMethods {
		if c.Method() == m {
			return m
		}
	}
	return "" // not to be: see enter
}

// logRequest writes the route's pattern, not the path, which names people; the
// path of what no route answers is logged, since that is how one finds it.
// All text is copied, as a handler may keep it longer than fiber does.
func (s *Server) logRequest(r *route, c *fiber.Ctx, level slog.Level, took time.Duration, err error) {
	resp := c.Response()
	attrs := make([]slog.Attr, 0, 8)
	attrs = append(attrs,
		slog.String("method", method(c)),
		slog.String("route", documentPath(r.path)),
		slog.Int("status", resp.StatusCode()),
		slog.Duration("duration", took),
		slog.Int("bytes", len(resp.Body())),
		slog.String("request_id", string(resp.Header.Peek(fiber.HeaderXRequestID))))
	if r.path == noRoute.path {
		attrs = append(attrs, slog.String("path", string(c.Context().URI().PathOriginal())))
	}
	if level >= slog.LevelWarn && err != nil {
		attrs = append(attrs, slog.String("error", err.Error()))
	}
	s.log.LogAttrs(context.Background(), level, "request", attrs...)
}

// enter is what happens before fiber: it knows only the usual methods, takes a
// target that fasthttp could not parse for "/", and trusts how that one found
// the end of a request.
func (s *Server) enter(next fasthttp.RequestHandler) fasthttp.RequestHandler {
	odd := s.serve(&route{path: unreadRoute.path, public: true, handle: oddTarget})
	return func(ctx *fasthttp.RequestCtx) {
		why, framing := misread(&ctx.Request.Header)
		if why != "" {
			s.refuseUnread(ctx, refuse("malformed-request", why))
			return
		}
		if framing.codings > 0 {
			// Of chunks fasthttp takes more spellings than others do; with the
			// connection closed nothing behind the last one is a request.
			framing.last = true
			lingerOnClose(ctx.Conn())
		}
		if framing.last {
			ctx.SetConnectionClose()
		}
		if !slices.Contains(fiber.DefaultMethods, string(ctx.Method())) {
			ctx.Request.Header.SetMethod(fiber.MethodTrace) // which no path has either
		}
		if path := ctx.URI().PathOriginal(); len(path) == 0 || path[0] != '/' {
			c := s.fiber.AcquireCtx(ctx)
			defer s.fiber.ReleaseCtx(c)
			_ = odd(c) // it answers errors itself
			return
		}
		next(ctx)
	}
}

// refuseUnread answers a request whose end is not certain, and no other on its
// connection.
func (s *Server) refuseUnread(ctx *fasthttp.RequestCtx, err error) {
	c := s.fiber.AcquireCtx(ctx)
	defer s.fiber.ReleaseCtx(c)
	ctx.SetConnectionClose()
	_ = s.unread(c, err) // it answers errors itself
}

// oddTarget answers OPTIONS * and refuses what is no path.
func oddTarget(_ *Server, c *fiber.Ctx) error {
	if c.Method() == fiber.MethodOptions && string(c.Context().URI().PathOriginal()) == "*" {
		c.Status(fiber.StatusNoContent)
		return nil
	}
	return refuse("malformed-request", "The request's target is not a path, or its Host is not a host.")
}

// unread is fiber's ErrorHandler: it answers what fasthttp refused before a
// route was found, such as a body that is too large.
func (s *Server) unread(c *fiber.Ctx, err error) error {
	lingerOnClose(c.Context().Conn())
	s.headers(c)
	s.finish(unreadRoute, s.metrics.route(unreadRoute.path), c, time.Now(), err)
	return nil
}
