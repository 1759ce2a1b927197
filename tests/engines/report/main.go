// Report prints one table of the databases that a whole test run used, from
// the folder that SLOTKEEPER_TEST_REPORT named:
//
//	go run ./tests/engines/report DIR
package main

import (
	"fmt"
	"os"

	"slotkeeper/tests/engines/usage"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: report DIR")
		os.Exit(2)
	}
	records, err := usage.Read(os.Args[1])
	if err == nil {
		err = usage.Print(os.Stdout, usage.WithUnasked(records))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}
