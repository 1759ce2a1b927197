package hostile

import (
	"fmt"
	"strings"
)

const (
	malformed = "400 malformed-request"
	invalid   = "422 validation-failed"
	late      = "408 request-timeout"
	large     = "413 body-too-large"
	bigHeader = "431 headers-too-large"
	nothing   = "404 not-found"
	noSlot    = "404 slot-not-found"
	noPlace   = "404 reservation-not-found"
	noKey     = "404 resource-not-found"
)

// one is a request that is answered once.
func one(kind, name, raw, want string) hostile {
	return hostile{kind: kind, name: name, raw: raw, want: []string{want}}
}

// user reserves as a user whose JSON text is written here as it stands.
func user(kind, name, text, want string) hostile {
	return one(kind, name, request("POST", "/slots/2/reservations", `{"user_id":`+text+`}`), want)
}

const range0 = `"starts_at":"2097-01-01T09:00:00Z","ends_at":"2097-01-01T09:30:00Z"`

// bodies are no JSON, or JSON that is no request.
func bodies() []hostile {
	var all []hostile
	for name, c := range map[string][2]string{
		"empty":               {"", malformed},
		"blank":               {"  \r\n ", malformed},
		"NUL":                 {"\x00", malformed},
		"a byte order mark":   {"\xef\xbb\xbf{\"user_id\":\"bom\"}", malformed},
		"UTF-16":              {"\xff\xfe{\x00}\x00", malformed},
		"array":               {`["user_id"]`, malformed},
		"number":              {`7`, malformed},
		"string":              {`"user_id"`, malformed},
		"null":                {`null`, malformed},
		"true":                {`true`, malformed},
		"cut":                 {`{"user_id":"cut`, malformed},
		"two":                 {`{"user_id":"a"}{"user_id":"b"}`, malformed},
		"NUL behind":          {"{\"user_id\":\"behind\"}\x00", malformed},
		"comma at the end":    {`{"user_id":"comma",}`, malformed},
		"comments":            {`{/* x */"user_id":"comment"}`, malformed},
		"single quotes":       {`{'user_id':'single'}`, malformed},
		"bare name":           {`{user_id:"bare"}`, malformed},
		"form":                {`user_id=form`, malformed},
		"XML":                 {`<?xml version="1.0"?><!DOCTYPE x [<!ENTITY y SYSTEM "file:///etc/passwd">]><x>&y;</x>`, malformed},
		"unknown":             {`{"user_id":"a","admin":true}`, malformed},
		"__proto__":           {`{"user_id":"a","__proto__":{"x":1}}`, malformed},
		"twice":               {`{"user_id":"a","user_id":"b"}`, malformed},
		"twice, escaped":      {`{"user_id":"a","user\u005fid":"b"}`, malformed},
		"twice by case":       {`{"user_id":"a","USER_ID":"b"}`, malformed},
		"name with NUL":       {`{"user_id":"a","x\u0000":1}`, malformed},
		"nothing in it":       {`{}`, invalid},
		"100 000 brackets":    {strings.Repeat("[", 60_000), malformed},
		"deep objects":        {strings.Repeat(`{"a":`, 9_000) + "1" + strings.Repeat("}", 9_000), malformed},
		"deep in a field":     {`{"user_id":` + strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000) + `}`, invalid},
		"deeper than allowed": {`{"user_id":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`, malformed},
		"many members":        {`{` + manyMembers(4_000) + `}`, malformed},
		"over the limit":      {`{"user_id":"` + strings.Repeat("x", 70_000) + `"}`, large},
	} {
		all = append(all, one("json", name, request("POST", "/slots/2/reservations", c[0]), c[1]))
	}
	for _, typed := range []string{`7`, `true`, `null`, `[]`, `{}`, `["alice"]`, `{"$ne":null}`, `-0`, `1e400`} {
		all = append(all, user("json", "user is "+typed, typed, invalid))
		all = append(all, one("json", "key is "+typed, request("POST", "/resources", `{"key":`+typed+`,"kind":"place"}`), invalid))
		all = append(all, one("json", "start is "+typed, request("POST", "/slots", `{"starts_at":`+typed+`,"ends_at":"2097-01-01T00:00:00Z"}`), invalid))
	}
	for _, coding := range []string{"gzip", "deflate", "br", "gzip, gzip", "x"} {
		all = append(all, one("json", "coding "+coding, request("POST", "/slots/2/reservations", `{"user_id":"coded"}`, "Content-Encoding: "+coding), "415 unsupported-media-type"))
	}
	return all
}

func manyMembers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"m%d":%d`, i, i)
	}
	return b.String()[1:]
}

// texts are user ids in odd Unicode. A text of round makes each one new.
func texts(round int) []hostile {
	long := strings.Repeat("x", 129)
	var all []hostile
	for name, c := range map[string][2]string{
		"overlong slash":         {"\"\xc0\xaf\"", malformed},
		"overlong NUL":           {"\"\xc0\x80\"", malformed},
		"overlong of three":      {"\"\xe0\x80\xaf\"", malformed},
		"lone continuation":      {"\"a\x80\"", malformed},
		"cut sequence":           {"\"a\xe2\x82\"", malformed},
		"surrogate in UTF-8":     {"\"\xed\xa0\x80\"", malformed},
		"beyond Unicode":         {"\"\xf4\x90\x80\x80\"", malformed},
		"five bytes":             {"\"\xf8\x88\x80\x80\x80\"", malformed},
		"Latin-1":                {"\"j\xfcrgen\"", malformed},
		"half a surrogate":       {`"\ud800"`, malformed},
		"surrogates swapped":     {`"\udc00\ud800"`, malformed},
		"raw NUL":                {"\"a\x00b\"", malformed},
		"raw newline":            {"\"a\nb\"", malformed},
		"raw escape":             {"\"a\x1b[31mb\"", malformed},
		"bad escape":             {`"\x41"`, malformed},
		"cut escape":             {`"\u00"`, malformed},
		"NUL":                    {`"a\u0000b"`, invalid},
		"newline":                {`"a\nb"`, invalid},
		"ANSI":                   {`"a\u001b[2Jb"`, invalid},
		"DEL":                    {`"a\u007fb"`, invalid},
		"next line":              {`"a\u0085b"`, invalid},
		"C1":                     {`"a\u009bb"`, invalid},
		"space at the end":       {`"a "`, invalid},
		"no-break space":         {`"\u00a0a"`, invalid},
		"line separator at end":  {`"a\u2028"`, invalid},
		"ideographic space":      {`"\u3000a"`, invalid},
		"empty":                  {`""`, invalid},
		"129 characters":         {`"` + long + `"`, invalid},
		"60 000 characters":      {`"` + strings.Repeat("ж", 30_000) + `"`, invalid},
		"grows under NFC":        {`"` + strings.Repeat("\ufb2c", 43) + `"`, invalid},
		"60 000 accents":         {`"a` + strings.Repeat("\u0301", 30_000) + `"`, invalid},
		"grows, and fits":        {`"` + strings.Repeat("\ufb2c", 30) + "{n}\"", "201"},
		"100 accents":            {`"a{n}` + strings.Repeat("\u0301", 100) + `"`, "201"},
		"right to left":          {"\"{n}\u202egnirts\"", "201"},
		"no character":           {`"{n}\uffff\ufffe"`, "201"},
		"zero width":             {"\"\ufeff{n}\u200b\u200d\"", "201"},
		"beyond the first plane": {`"{n}😀\ud83d\ude00\U0"`, malformed},
		"a family":               {`"{n}\ud83d\udc68\u200d\ud83d\udc69"`, "201"},
		"tags":                   {"\"{n}\U000e0041\U000e007f\"", "201"},
		"private use":            {"\"{n}\U0010fffd\"", "201"},
		"replacement character":  {"\"{n}\ufffd\"", "201"},
		"Turkish":                {`"{n}İıſK"`, "201"},
		"half of full width":     {`"{n}ｓｅｌｅｃｔ　＇"`, "201"},
	} {
		all = append(all, user("unicode", name, strings.ReplaceAll(c[0], "{n}", fmt.Sprintf("r%d", round)), c[1]))
	}
	return all
}
