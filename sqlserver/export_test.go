package sqlserver

// Translate and Outcome let tests of the outer package see how errors are read.
var (
	Translate = translate
	Outcome   = outcome
)
