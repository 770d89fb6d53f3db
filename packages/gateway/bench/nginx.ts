import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * Returns the path of the system's nginx, else of Debian's package, which is unpacked into an ignored folder. That needs no
 * root and starts no service.
 */
export function findNginx(): string {
  const folder = fileURLToPath(new URL("../../../.clients/nginx", import.meta.url));
  const unpacked = join(folder, "usr/sbin/nginx");
  const found = ["/usr/sbin/nginx", "/usr/local/sbin/nginx", unpacked].find(existsSync);
  if (found !== undefined) return found;
  mkdirSync(folder, { recursive: true });
  const run = (program: string, ...args: string[]) =>
    execFileSync(program, args, { cwd: folder, stdio: "pipe", timeout: 60_000 });
  console.error("Fetching nginx, once, into .clients ...");
  run("apt-get", "download", "nginx");
  const archive = readdirSync(folder).find((name) => name.endsWith(".deb"));
  if (archive === undefined) throw new Error("apt-get download left no package");
  run("dpkg-deb", "-x", archive, ".");
  run(unpacked, "-v");
  return unpacked;
}

/** One worker without buffering and with keep-alive connections. */
export function buildNginxConfig(folder: string, port: number, upstreamPort: number): string {
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
  return `
${process.getuid?.() === 0 ? "user root;" : ""}
daemon off;
worker_processes 1;
worker_rlimit_nofile 20000;
pid ${join(folder, "nginx.pid")};
error_log stderr warn;
events { worker_connections 12000; }
http {
  access_log ${join(folder, "access.log")};
  ${temporary.map((name) => `${name}_temp_path ${join(folder, name)};`).join("\n  ")}
  upstream model { server 127.0.0.1:${upstreamPort}; keepalive 256; }
  server {
    listen 127.0.0.1:${port} backlog=4096;
    location = /healthz { access_log off; return 200 "ok"; }
    location / {
      proxy_pass http://model;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
      proxy_read_timeout 120s;
    }
  }
}
`;
}
