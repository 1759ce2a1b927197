package httpapi

import (
	"context"
	"io"
	"log/slog"
	"net"
	"testing"

	"slotkeeper/app"

	"github.com/valyala/fasthttp"
)

// refusingStore refuses every reservation, as a full slot does.
type refusingStore struct{ fake }

func (*refusingStore) Reserve(context.Context, app.NewReservation) (app.Reservation, error) {
	return app.Reservation{}, app.ErrSlotFull
}

// BenchmarkHandler is what a request costs beside its database work: all of
// fiber, this package and app, without a network.
func BenchmarkHandler(b *testing.B) {
	for name, logger := range map[string]*slog.Logger{"silent": nil, "logged": slog.New(slog.NewJSONHandler(io.Discard, nil))} {
		srv, err := New(app.NewService(&refusingStore{}, app.Config{}), Options{Logger: logger})
		if err != nil {
			b.Fatal(err)
		}
		for _, c := range []struct{ method, path, body string }{
			{"GET", "/livez", ""},
			{"POST", "/slots/12345/reservations", `{"user_id":"alice"}`},
		} {
			b.Run(name+"/"+c.method, func(b *testing.B) {
				server, client := net.Pipe()
				defer server.Close()
				defer client.Close()
				var ctx fasthttp.RequestCtx
				ctx.Init2(server, nil, false)
				b.ReportAllocs()
				for b.Loop() {
					ctx.Request.Reset()
					ctx.Response.Reset()
					ctx.Request.Header.SetMethod(c.method)
					ctx.Request.SetRequestURI(c.path)
					ctx.Request.Header.SetHost("127.0.0.1:8080")
					ctx.Request.Header.SetContentType(jsonType)
					ctx.Request.SetBodyString(c.body)
					srv.http.Handler(&ctx)
				}
			})
		}
	}
}
