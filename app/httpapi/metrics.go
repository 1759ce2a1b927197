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
	registry   *prometheus.Registry
	requests   *prometheus.CounterVec
	duration   *prometheus.HistogramVec
	refusals   *prometheus.CounterVec
	outcomes   map[string]prometheus.Counter
	retries    map[app.Reason]prometheus.Counter
	waits      prometheus.Histogram
	batch      prometheus.Histogram
	queue      prometheus.Gauge
	swept      prometheus.Counter
	overbooked prometheus.Gauge
	counted    prometheus.Gauge
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
		outcomes: map[string]prometheus.Counter{},
		retries:  map[app.Reason]prometheus.Counter{},
		waits: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "slotkeeper_lock_wait_seconds",
			Help: "Time that each request to write waited: for its turn behind others of this process, and for the database's lock on a slot (Postgres, --strategy for-update) or on the file (SQLite). SQL Server takes its locks inside its one batch, so there it is the turn alone.",
			// From a turn that is free at once to the bound of a call.
			Buckets: []float64{.0001, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}),
		batch: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "slotkeeper_batch_size",
			Help:    "Requests written together in one transaction.",
			Buckets: []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512},
		}),
		queue: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "slotkeeper_queue_length",
			Help: "Requests that wait to be written, those of the batches under way included. A request that finds 4096 waiting is refused as busy.",
		}),
		swept: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "slotkeeper_swept_holds_total",
			Help: "Expired holds freed by the sweeper.",
		}),
		overbooked: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "slotkeeper_overbooked_slots",
			Help: "Slots with more live reservations than capacity, when they were last counted. Anything but 0 means that a program went past the database's guarantee.",
		}),
		counted: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "slotkeeper_check_timestamp_seconds",
			Help: "When the slots were last counted, as seconds since 1970; 0 before the first time.",
		}),
	}
	m.registry.MustRegister(m.requests, m.duration, m.refusals, m.waits, m.batch, m.queue, m.swept, m.overbooked, m.counted,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	for i := range problems { // a rate needs the zero before the first one
		m.refusals.WithLabelValues(problems[i].code)
	}
	m.countOutcomes()
	m.countRetries()
	return m
}

func (m *Metrics) countRetries() {
	retries := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "slotkeeper_tx_retries_total",
		Help: "Transactions run again, by why: serialization and deadlock are the database's, lock-timeout and locked another's lock, connection one that broke before COMMIT and unknown-outcome one that broke behind it.",
	}, []string{"reason"})
	m.registry.MustRegister(retries)
	for _, why := range app.Reasons() {
		m.retries[why] = retries.WithLabelValues(string(why))
	}
}

// Retried implements app.Observer.
func (m *Metrics) Retried(why app.Reason) {
	c, known := m.retries[why]
	if !known { // an engine's mistake must not become a label, nor a panic
		c = m.retries[app.ReasonOther]
	}
	c.Inc()
}

// Waited implements app.Observer.
func (m *Metrics) Waited(d time.Duration) { m.waits.Observe(d.Seconds()) }

// Batch implements app.Observer.
func (m *Metrics) Batch(size int) { m.batch.Observe(float64(size)) }

// Waiting implements app.Observer.
func (m *Metrics) Waiting(delta int) { m.queue.Add(float64(delta)) }

// Swept implements app.Observer.
func (m *Metrics) Swept(holds int) { m.swept.Add(float64(holds)) }

// SetOverbooked reports how many slots a check found over-full.
func (m *Metrics) SetOverbooked(slots int) {
	m.overbooked.Set(float64(slots))
	m.counted.SetToCurrentTime()
}

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
