package httpapi

import (
	"strconv"
	"time"

	"slotkeeper/app"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttpadaptor"
)

// Metrics counts what the Server and the Service do, in a registry of its own.
// It is the Service's Observer, so it is made before both.
type Metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	refusals *prometheus.CounterVec
	retries  prometheus.Counter
	batch    prometheus.Histogram
	waiting  prometheus.Gauge
	swept    prometheus.Counter
	overfull prometheus.Gauge
}

var _ app.Observer = (*Metrics)(nil)

// NewMetrics returns Metrics at zero.
func NewMetrics() *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "slotkeeper_http_requests_total",
			Help: "Requests answered; status 499 is a client that left before its answer.",
		}, []string{"method", "route", "status"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "slotkeeper_http_request_duration_seconds",
			Help:    "Time from a request read to its answer made, waiting for a turn included.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"route"}),
		refusals: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "slotkeeper_refusals_total",
			Help: "Problems answered, by code.",
		}, []string{"code"}),
		retries: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "slotkeeper_retries_total",
			Help: "Transactions run again after the database gave them up.",
		}),
		batch: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "slotkeeper_batch_size",
			Help:    "Requests written together in one transaction.",
			Buckets: []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512},
		}),
		waiting: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "slotkeeper_waiting_requests",
			Help: "Requests that wait to be written.",
		}),
		swept: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "slotkeeper_swept_holds_total",
			Help: "Expired holds freed by the sweeper.",
		}),
		overfull: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "slotkeeper_overfull_slots",
			Help: "Slots with more live reservations than capacity, when they were last counted. Anything but 0 means that a program went past the database's guarantee.",
		}),
	}
	m.registry.MustRegister(m.requests, m.duration, m.refusals, m.retries, m.batch, m.waiting, m.swept, m.overfull,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	for i := range problems { // a rate needs the zero before the first one
		m.refusals.WithLabelValues(problems[i].code)
	}
	return m
}

// Retried implements app.Observer.
func (m *Metrics) Retried() { m.retries.Inc() }

// Batch implements app.Observer.
func (m *Metrics) Batch(size int) { m.batch.Observe(float64(size)) }

// Waiting implements app.Observer.
func (m *Metrics) Waiting(delta int) { m.waiting.Add(float64(delta)) }

// Swept implements app.Observer.
func (m *Metrics) Swept(holds int) { m.swept.Add(float64(holds)) }

// SetOverfull reports how many slots a check found over-full.
func (m *Metrics) SetOverfull(slots int) { m.overfull.Set(float64(slots)) }

func (m *Metrics) refused(code string) { m.refusals.WithLabelValues(code).Inc() }

// handler answers a scrape.
func (m *Metrics) handler() fasthttp.RequestHandler {
	return fasthttpadaptor.NewFastHTTPHandler(promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}))
}

// routeMetrics are those of one route, looked up once.
type routeMetrics struct {
	route    string
	requests *prometheus.CounterVec
	duration prometheus.Observer
}

func (m *Metrics) route(path string) *routeMetrics {
	return &routeMetrics{path, m.requests.MustCurryWith(prometheus.Labels{"route": path}), m.duration.WithLabelValues(path)}
}

func (r *routeMetrics) answered(method string, status int, took time.Duration) {
	r.requests.WithLabelValues(method, strconv.Itoa(status)).Inc()
	r.duration.Observe(took.Seconds())
}
