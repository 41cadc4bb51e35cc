# Java: the JDK's own HTTP server and client, three requests over one connection.
. "$(dirname "$0")/net.sh"
two_hosts 10ms 100mbit
cat > /tmp/S.java <<'J'
import com.sun.net.httpserver.HttpServer;
import java.net.*;
import java.net.http.*;
public class S {
    public static void main(String[] given) throws Exception {
        if (given[0].equals("server")) {
            HttpServer server = HttpServer.create(new InetSocketAddress(8080), 0);
            server.createContext("/", exchange -> {
                byte[] body = new byte[1000];
                exchange.sendResponseHeaders(200, body.length);
                exchange.getResponseBody().write(body);
                exchange.close();
            });
            server.start();
            return;
        }
        HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
        for (int i = 1; i <= 3; i++) {
            long begin = System.nanoTime();
            client.send(HttpRequest.newBuilder(URI.create("http://10.0.0.2:8080/")).build(), HttpResponse.BodyHandlers.ofString());
            System.out.printf("request_%d_ms = %.3f%n", i, (System.nanoTime() - begin) / 1e6);
        }
        System.exit(0);
    }
}
J
javac -J-Xint -d /tmp /tmp/S.java
$B java -Xmx64m -Xint -cp /tmp S server &
sleep 5
$A java -Xmx64m -Xint -cp /tmp S client
