package tds

import (
	"errors"
	"fmt"
	"strings"
)

// Kind is what a request asks for.
type Kind int

// The kinds of request.
const (
	Batch    Kind = iota // SQL text alone
	RPC                  // a procedure; the driver sends sp_executesql for text with parameters
	Begin                // the driver's own way to begin a transaction,
	Commit               // to commit it,
	Rollback             // and to roll it back
)

func (k Kind) String() string {
	return [...]string{"batch", "rpc", "begin", "commit", "rollback"}[k]
}

// Query is one request.
type Query struct {
	Conn          int // number of the connection, in order of login, from 1
	Kind          Kind
	Text          string  // the SQL text; of a procedure other than sp_executesql and sp_prepexec its name
	Proc          string  // the procedure's name, when Kind is RPC
	Params        []Param // of the statement or procedure, when Kind is RPC
	Isolation     byte    // when Kind is Begin: 0 keeps it, 1 to 5 as in [MS-TDS] 2.2.6.9
	Reset         bool    // asks to reset the connection first
	Transaction   uint64  // the transaction's descriptor as the client knows it, 0 when it knows none
	InTransaction bool    // one is open, as the server knows it
}

// Param is a parameter of a procedure. Value is nil, int64, float64, bool,
// string, []byte or time.Time (UTC).
type Param struct {
	Name  string // with its @
	Value any
}

// Param returns the value of the parameter with this name, nil if there is none.
func (q Query) Param(name string) any {
	for _, p := range q.Params {
		if strings.EqualFold(strings.TrimPrefix(p.Name, "@"), strings.TrimPrefix(name, "@")) {
			return p.Value
		}
	}
	return nil
}

// Mentions says whether the text has each of the words, in any case.
func (q Query) Mentions(words ...string) bool {
	text := strings.ToLower(q.Text)
	for _, w := range words {
		if !strings.Contains(text, strings.ToLower(w)) {
			return false
		}
	}
	return true
}

// Requests of the transaction manager, [MS-TDS] 2.2.6.9.
const (
	managerBegin    = 5
	managerCommit   = 7
	managerRollback = 8
)

const (
	headerTransaction = 2      // ALL_HEADERS type, [MS-TDS] 2.2.5.3
	procByNumber      = 0xffff // in place of a name's length, [MS-TDS] 2.2.6.6
)

var procNames = map[uint16]string{10: "sp_executesql", 11: "sp_prepare", 12: "sp_execute", 13: "sp_prepexec", 15: "sp_unprepare"}

func parseQuery(m message) (Query, error) {
	r := reader{data: m.data}
	q := Query{Reset: m.status&statusReset != 0}
	switch m.kind {
	case typeBatch:
		q.Transaction = r.allHeaders()
		q.Text = decodeText(r.rest())
	case typeRPC:
		q.Kind = RPC
		q.Transaction = r.allHeaders()
		r.rpc(&q)
	case typeTransaction:
		q.Transaction = r.allHeaders()
		switch request := r.uint16(); request {
		case managerBegin:
			q.Kind, q.Isolation = Begin, r.byte()
		case managerCommit:
			q.Kind = Commit
		case managerRollback:
			q.Kind = Rollback
		default:
			return q, fmt.Errorf("transaction manager request %d", request)
		}
	default:
		return q, fmt.Errorf("a message of type %d", m.kind)
	}
	return q, r.err
}

// allHeaders returns the transaction descriptor that they name.
func (r *reader) allHeaders() (transaction uint64) {
	total := int(r.uint32())
	if total < 4 {
		r.fail("ALL_HEADERS of %d bytes", total)
		return 0
	}
	for all := (reader{data: r.bytes(total - 4)}); len(all.data) > 0; {
		size := int(all.uint32())
		if size < 6 || all.err != nil {
			r.fail("a header of %d bytes", size)
			return 0
		}
		kind := all.uint16()
		one := reader{data: all.bytes(size - 6)}
		if kind == headerTransaction {
			transaction = one.uint64()
		}
		if r.err = errors.Join(all.err, one.err); r.err != nil {
			return 0
		}
	}
	return transaction
}

// rpc reads one procedure call. Where the statement is a parameter (first of
// sp_executesql, third of sp_prepexec), it becomes the text, and its own
// declarations and a handle are left out of Params.
func (r *reader) rpc(q *Query) {
	if n := r.uint16(); n == procByNumber {
		number := r.uint16()
		if q.Proc = procNames[number]; q.Proc == "" {
			q.Proc = fmt.Sprintf("procedure %d", number)
		}
	} else {
		q.Proc = decodeText(r.bytes(2 * int(n)))
	}
	r.uint16() // options
	for len(r.data) > 0 && r.err == nil {
		name := r.text8()
		r.byte() // status
		q.Params = append(q.Params, Param{name, r.parameter()})
	}
	q.Text = q.Proc
	at, before := 0, 2
	switch strings.ToLower(q.Proc) {
	case "sp_prepexec":
		at, before = 2, 3
	case "sp_executesql":
	default:
		return
	}
	if len(q.Params) > at {
		text, _ := q.Params[at].Value.(string)
		q.Text = text
		q.Params = q.Params[min(before, len(q.Params)):]
	}
}
