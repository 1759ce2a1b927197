package httpapi

import (
	"github.com/gofiber/fiber/v2"
)

func (s *Server) livez(c *fiber.Ctx) error {
	return constant(c, jsonType, []byte(`{"status":"alive"}`))
}

// readyz is for load balancers: the database answers within a second, its
// schema is the one that this program needs, and nobody is ending the process.
func (s *Server) readyz(c *fiber.Ctx) error {
	if s.draining.Load() {
		return refuse("shutting-down", "")
	}
	if err := s.svc.Ready(s.context(c)); err != nil {
		return err
	}
	return constant(c, jsonType, []byte(`{"status":"ready"}`))
}

func (s *Server) metricsPage(c *fiber.Ctx) error {
	s.scrape(c.Context())
	return nil
}

func (s *Server) openapiDocument(c *fiber.Ctx) error { return constant(c, jsonType, s.openapi) }

func (s *Server) docsPage(c *fiber.Ctx) error { return html(c, s.docs) }

func (s *Server) root(c *fiber.Ctx) error {
	c.Set(fiber.HeaderLocation, s.prefix+"/docs")
	c.Status(fiber.StatusFound)
	return nil
}

// constant answers with bytes that stay as they are; fasthttp only reads them.
func constant(c *fiber.Ctx, contentType string, b []byte) error {
	resp := c.Response()
	resp.Header.SetContentType(contentType)
	resp.SetBodyRaw(b)
	return nil
}

// html answers with one of the pages, which load nothing from anywhere.
func html(c *fiber.Ctx, page []byte) error {
	c.Set(fiber.HeaderContentSecurityPolicy, "default-src 'none'; style-src 'unsafe-inline'")
	return constant(c, "text/html; charset=utf-8", page)
}
