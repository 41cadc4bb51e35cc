# Node: its HTTP server and its HTTP client, two requests over one connection.
. "$(dirname "$0")/net.sh"
two_hosts 10ms 100mbit
cat > /tmp/server.js <<'J'
require("http").createServer((request, response) => response.end("x".repeat(1000))).listen(8080, "10.0.0.2");
J
cat > /tmp/client.js <<'J'
const http = require("http");
const agent = new http.Agent({ keepAlive: true });
const get = () => new Promise((resolve) => {
    const begin = process.hrtime.bigint();
    http.get({ host: "10.0.0.2", port: 8080, agent }, (response) => {
        response.resume();
        response.on("end", () => resolve(Number(process.hrtime.bigint() - begin) / 1e6));
    });
});
(async () => {
    await get();
    await new Promise((resolve) => setTimeout(resolve, 100));
    console.log("second_request_ms = " + (await get()).toFixed(3));
    process.exit(0);
})();
J
$B node /tmp/server.js &
sleep 5
$A node /tmp/client.js
