// An HTTP server at 10.0.0.2, and a client that asks it twice over one connection.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

func main() {
	if os.Args[1] == "server" {
		http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { w.Write(make([]byte, 1000)) })
		panic(http.ListenAndServe("10.0.0.2:8080", nil))
	}
	for i := 1; i <= 2; i++ {
		begin := time.Now()
		answer, err := http.Get("http://10.0.0.2:8080/")
		if err != nil {
			panic(err)
		}
		io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
		fmt.Printf("request_%d_ms = %.3f\n", i, float64(time.Since(begin).Microseconds())/1000)
	}
}
