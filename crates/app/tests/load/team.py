"""A team's own load tool, as small as can be: it serves a shop over TLS and asks it.

Main scenario: ten pages, each with a style sheet, an image and an address that redirects. Side
scenario: a heavy operation, twice. Second population: five users, all at the end.
"""

import http.client
import http.server
import os
import ssl
import subprocess
import sys
import threading
import time

folder = sys.argv[1]


class Shop(http.server.BaseHTTPRequestHandler):
    heavy = 0

    def do_GET(self):
        status = 200
        if self.path.startswith("/heavy"):
            Shop.heavy += 1
            status = 200 if Shop.heavy == 1 else 503
        if self.path == "/old":
            status = 302
        self.send_response(status)
        self.send_header("Content-Length", "5")
        if status == 302:
            self.send_header("Location", "/page")
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, *args):
        pass


key, certificate = folder + "/key.pem", folder + "/certificate.pem"
words = "req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost".split()
try:
    subprocess.run(["openssl", *words, "-keyout", key, "-out", certificate], check=True)
except FileNotFoundError:
    sys.exit("needs openssl")
served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
served.load_cert_chain(certificate, key)
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Shop)
server.socket = served.wrap_socket(server.socket, server_side=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
asked = ssl.create_default_context(cafile=certificate)
asked.check_hostname = False

rows = []


def ask(path, name=None):
    begin = time.time()
    shop = http.client.HTTPSConnection("127.0.0.1", server.server_address[1], context=asked)
    shop.request("GET", path)
    status = shop.getresponse().status
    ms = round((time.time() - begin) * 1000)
    good = "true" if status < 400 else "false"
    rows.append(f"{int(begin * 1000)},{ms},{name or path},{status},{good}")


def main():
    for page in range(10):
        for path in ["/page?id=%d" % page, "/style.css", "/image.png", "/old"]:
            ask(path)


def side():
    for _ in range(2):
        ask("/heavy?report=all")


scenarios = [threading.Thread(target=main), threading.Thread(target=side)]
for scenario in scenarios:
    scenario.start()
for scenario in scenarios:
    scenario.join()
late = [threading.Thread(target=ask, args=("/page", "late")) for _ in range(5)]
for user in late:
    user.start()
for user in late:
    user.join()

heading = "timeStamp,elapsed,label,responseCode,success"
for name, all in [("1", [f"{int(time.time() * 1000)},1,earlier,200,true"]), ("2", rows)]:
    os.makedirs(f"{folder}/runs/{name}")
    with open(f"{folder}/runs/{name}/results.jtl", "w") as file:
        file.write("\n".join([heading, *all]) + "\n")
    time.sleep(0.05)
