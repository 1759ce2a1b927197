// Package httpapi is the HTTP side of Slotkeeper: requests in, answers and
// problems (RFC 9457) out, the OpenAPI document and the pages made from it.
//
// routes.go lists every call; errors.go has every status of a refusal. A
// handler reads the request (path.go, query.go, decode.go), calls one method
// of app.Service and writes what it returns (encode.go).
package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"slotkeeper/app"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
)

// Options sets up a Server. Zero values get the defaults named.
type Options struct {
	Logger       *slog.Logger  // a line a request, at warn for a 5xx, at info otherwise; nil is silence
	PublicURL    string        // how clients reach the service; "" goes by each request's Host
	BodyLimit    int           // bytes of a body; 64 KiB
	ReadTimeout  time.Duration // of a whole request, from its first byte; 10 s
	WriteTimeout time.Duration // of an answer; 10 s
	IdleTimeout  time.Duration // of a connection between requests; 75 s
	DrainDelay   time.Duration // how long Shutdown says "not ready" before it stops accepting; 0
	Metrics      *Metrics      // what the Service observes with; a new one if nil
}

// Limits of a connection, in bytes. The read buffer bounds a request's line
// and headers together.
const (
	readBuffer  = 8 << 10
	writeBuffer = 4 << 10
	bodyLimit   = 64 << 10
)

// Server serves a Service over HTTP. Make one with New, for one listener.
type Server struct {
	svc       *app.Service
	opts      Options
	log       *slog.Logger
	metrics   *Metrics
	http      *fasthttp.Server
	fiber     *fiber.App
	publicURL string // without a slash at its end
	prefix    string // the path of publicURL
	openapi   []byte
	docs      []byte
	pages     map[string][]byte // of the problems, by code
	scrape    fasthttp.RequestHandler
	draining  atomic.Bool

	mu sync.Mutex
	ln *listener
}

// New returns a Server for svc. Errors: a PublicURL that is no absolute http
// or https URL.
func New(svc *app.Service, opts Options) (*Server, error) {
	s := &Server{svc: svc, opts: opts.withDefaults(), pages: problemPages()}
	s.log, s.metrics = s.opts.Logger, s.opts.Metrics
	if err := s.setPublicURL(opts.PublicURL); err != nil {
		return nil, err
	}
	var err error
	if s.openapi, err = document(s.publicURL); err != nil {
		return nil, err
	}
	if s.docs, err = docsPage(s.openapi); err != nil {
		return nil, err
	}
	s.scrape = s.metrics.handler()
	s.fiber = fiber.New(fiber.Config{
		CaseSensitive:                true,
		StrictRouting:                true,
		UnescapePath:                 false, // see path.go
		DisableStartupMessage:        true,
		DisableDefaultContentType:    true,
		DisablePreParseMultipartForm: true,
		ErrorHandler:                 s.unread,
		BodyLimit:                    s.opts.BodyLimit,
		ReadTimeout:                  s.opts.ReadTimeout,
		WriteTimeout:                 s.opts.WriteTimeout,
		IdleTimeout:                  s.opts.IdleTimeout,
		ReadBufferSize:               readBuffer,
		WriteBufferSize:              writeBuffer,
	})
	s.register()
	s.http = s.fiber.Server()
	s.http.Handler = s.enter(s.fiber.Handler())
	s.http.CloseOnShutdown = true
	return s, nil
}

func (o Options) withDefaults() Options {
	if o.BodyLimit <= 0 {
		o.BodyLimit = bodyLimit
	}
	if o.ReadTimeout <= 0 {
		o.ReadTimeout = 10 * time.Second
	}
	if o.WriteTimeout <= 0 {
		o.WriteTimeout = 10 * time.Second
	}
	if o.IdleTimeout <= 0 {
		o.IdleTimeout = 75 * time.Second
	}
	if o.Metrics == nil {
		o.Metrics = NewMetrics()
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

func (s *Server) setPublicURL(given string) error {
	if given == "" {
		return nil
	}
	u, err := url.Parse(given)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("public URL %q: want http://host or https://host, with a path at most", given)
	}
	s.publicURL = strings.TrimRight(u.String(), "/")
	s.prefix = strings.TrimRight(u.EscapedPath(), "/")
	return nil
}

// Serve answers requests on ln until Shutdown; then it returns nil.
func (s *Server) Serve(ln net.Listener) error {
	s.mu.Lock()
	if s.draining.Load() {
		s.mu.Unlock()
		return ln.Close()
	}
	if s.ln != nil {
		s.mu.Unlock()
		return errors.New("httpapi: a Server serves one listener")
	}
	s.ln = newListener(ln)
	s.mu.Unlock()
	return s.http.Serve(s.ln)
}

// Shutdown ends the server: /readyz says so at once, for DrainDelay requests
// are taken as before, then no more connections are; what was taken is
// answered, and the connections close. It returns when all are closed. When
// ctx ends before that it closes them and returns ctx's error.
func (s *Server) Shutdown(ctx context.Context) error {
	s.draining.Store(true)
	s.mu.Lock()
	ln := s.ln
	s.mu.Unlock()
	if ln == nil {
		return nil
	}
	delay := time.NewTimer(s.opts.DrainDelay)
	defer delay.Stop()
	select {
	case <-delay.C:
	case <-ctx.Done():
	}
	err := s.http.ShutdownWithContext(ctx)
	if err != nil {
		ln.closeAll()
	}
	return err
}
