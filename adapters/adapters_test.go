package adapters

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slotkeeper/app"
)

func TestEngineOf(t *testing.T) {
	for dsn, want := range map[string]Engine{
		"sqlite:a.db": SQLite, "sqlite:/var/lib/a.db": SQLite, "SQLITE:a.db": SQLite,
		"postgres://h/d": Postgres, "postgresql://h/d": Postgres, "sqlserver://h?database=d": SQLServer,
	} {
		got, err := EngineOf(dsn)
		require.NoError(t, err, dsn)
		assert.Equal(t, want, got, dsn)
	}
}

func TestValidateRefuses(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a.db")
	for name, c := range map[string]struct {
		dsn  string
		o    Options
		want string
	}{
		"no scheme":      {"slotkeeper.db", Options{}, "the database has no scheme: use sqlite:PATH,"},
		"empty":          {"", Options{}, "the database has no scheme: use sqlite:PATH,"},
		"unknown scheme": {"mysql://root:s3cret@h/d", Options{}, `the database has the unknown scheme "mysql": use sqlite:PATH,`},
		"no slashes":     {"postgres:root:s3cret@h/d", Options{}, "the database's scheme postgres lacks its two slashes: use"},
		"key and value":  {"host=h password=s3cret", Options{}, "the database has no scheme: use"},
		"no path":        {"sqlite:", Options{}, "sqlite needs a file,"},
		"memory":         {"sqlite::memory:", Options{}, "sqlite needs a file,"},
		"a directory":    {"sqlite:" + dir, Options{}, dir + " is a directory: name a file in it"},
		"no directory":   {"sqlite:" + dir + "/no/a.db", Options{}, "the directory " + dir + "/no of the database does not exist: create it"},
		"strategy":       {"postgres://h/d", Options{Strategy: "hope"}, `--strategy is "hope": use for-update or serializable`},
		"sqlite's":       {"sqlite:" + file, Options{Strategy: "serializable"}, "--strategy is for postgres alone: leave it out with sqlite"},
		"sqlserver's":    {"sqlserver://h", Options{Strategy: "for-update"}, "--strategy is for postgres alone: leave it out with sqlserver"},
		"ranges":         {"sqlserver://h", Options{Ranges: "hope"}, `--ranges is "hope": use trigger or nights`},
		"not its ranges": {"postgres://h/d", Options{Ranges: "nights"}, "--ranges is for sqlserver alone: leave it out with postgres"},
		"not its locks":  {"postgres://h/d", Options{AllowUnguardedLocks: true}, "--allow-unguarded-locks is for sqlserver alone"},
		"negative pool":  {"postgres://h/d", Options{PoolSize: -1}, "the pool size -1 is too small: use at least 2"},
		"pool of one":    {"postgres://h/d", Options{PoolSize: 1}, "the pool size 1 is too small: use at least 2"},
	} {
		t.Run(name, func(t *testing.T) {
			err := Validate(c.dsn, c.o)
			require.Error(t, err)
			assert.Contains(t, err.Error(), c.want)
			assert.NotContains(t, err.Error(), "s3cret")
			_, err = Open(context.Background(), c.dsn, c.o)
			require.Error(t, err)
			assert.Contains(t, err.Error(), c.want)
		})
	}
	assert.NoError(t, Validate("postgres://h/d", Options{Strategy: "serializable", PoolSize: 2}))
	assert.NoError(t, Validate("sqlite:"+file, Options{}))
}

// What writes at once must leave a connection, or a crowd before one slot
// keeps reads and readiness waiting. Seen red with writers = pool.
func TestBounds(t *testing.T) {
	for pool := MinPool; pool <= 64; pool++ {
		writers, perSlot := Bounds("postgres://h/d", pool, false)
		assert.GreaterOrEqual(t, writers, 1)
		assert.Less(t, writers, pool)
		assert.LessOrEqual(t, perSlot, writers)
		if writers > 1 {
			assert.Less(t, perSlot, writers, "another slot must get through")
		}
		// Together with the batch, the look at full slots, and what is written aside.
		if writers, _ = Bounds("postgres://h/d", pool, true); pool >= 6 {
			assert.LessOrEqual(t, 2*writers+2, pool-1)
		}
	}
	writers, perSlot := Bounds("postgres://h/d", 0, false)
	assert.Equal(t, []int{14, 2}, []int{writers, perSlot})
	writers, perSlot = Bounds("sqlite:a.db", 0, true)
	assert.Equal(t, []int{1, 1}, []int{writers, perSlot})
}

func TestSQLite(t *testing.T) {
	ctx := context.Background()
	file := filepath.Join(t.TempDir(), "a.db")
	dsn := "sqlite:" + file
	pending, err := Pending(ctx, dsn)
	require.NoError(t, err)
	assert.True(t, pending)
	assert.NoFileExists(t, file, "asking makes no file")

	done, err := Up(ctx, dsn)
	require.NoError(t, err)
	require.NotEmpty(t, done)
	assert.Equal(t, "00001_init.sql", done[0].Name)
	again, err := Up(ctx, dsn)
	require.NoError(t, err)
	assert.Empty(t, again)
	pending, err = Pending(ctx, dsn)
	require.NoError(t, err)
	assert.False(t, pending)

	store, err := Open(ctx, dsn, Options{})
	require.NoError(t, err)
	assert.NoError(t, store.Ready(ctx))
	require.NoError(t, store.Close())

	steps, err := Status(ctx, dsn)
	require.NoError(t, err)
	require.Len(t, steps, len(done))
	assert.False(t, steps[0].Pending)
	assert.WithinDuration(t, time.Now(), steps[0].Applied, time.Hour)
	for range done {
		undone, err := Down(ctx, dsn)
		require.NoError(t, err)
		assert.True(t, undone.Pending)
	}
	_, err = Down(ctx, dsn)
	assert.ErrorIs(t, err, ErrNothingToUndo)
	steps, err = Status(ctx, dsn)
	require.NoError(t, err)
	assert.True(t, steps[0].Pending)
}

// Replicas that start at once all find the schema made. Seen red with up
// trying once.
func TestUpAtOnce(t *testing.T) {
	dsn := "sqlite:" + filepath.Join(t.TempDir(), "a.db")
	var all sync.WaitGroup
	errs := make([]error, 6)
	for i := range errs {
		all.Go(func() { _, errs[i] = Up(context.Background(), dsn) })
	}
	all.Wait()
	for _, err := range errs {
		assert.NoError(t, err)
	}
	pending, err := Pending(context.Background(), dsn)
	require.NoError(t, err)
	assert.False(t, pending)
}

func TestNotADatabase(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.db")
	require.NoError(t, os.WriteFile(file, []byte("this is a letter to the clinic, and no database at all\n"), 0o600))
	_, err := Pending(context.Background(), "sqlite:"+file)
	require.Error(t, err)
	assert.Contains(t, err.Error(), file)
}

// The server cannot be reached; nobody listens on a port that was just freed.
func TestUnreachable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().String()
	require.NoError(t, l.Close())
	for _, scheme := range []string{"postgres", "sqlserver"} {
		dsn := scheme + "://anna:s3cret-w0rd@" + address + "/clinic"
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_, err := Open(ctx, dsn, Options{})
		require.ErrorIs(t, err, app.ErrUnavailable)
		assert.Contains(t, err.Error(), "cannot reach "+scheme+"://anna:xxxxx@"+address+"/clinic; start it or correct --db")
		assert.NotContains(t, err.Error(), "s3cret")
		_, err = Pending(ctx, dsn)
		require.ErrorIs(t, err, app.ErrUnavailable)
		assert.NotContains(t, err.Error(), "s3cret")
	}
}
