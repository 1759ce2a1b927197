//go:build race

package served

// raceEnabled says that the tests look for data races, so the program is to.
const raceEnabled = true
