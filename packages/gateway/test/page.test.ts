import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { gunzipSync, brotliDecompressSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "./deltawire-process.ts";
import { sendRawRequest, sendBytes } from "./raw-http.ts";
import type { TestGateway } from "./test-gateway.ts";
import { testGateway } from "./gateway-fixture.ts";

const demo = "[server]\nport = 0\ndemo = true\n";
const index = `<!doctype html><script type="module" src="/assets/main-abc.js"></script>${"<p>hello</p>".repeat(50)}`;
const script = `export const words = ${JSON.stringify("the page ".repeat(500))};\n`;
const font = Uint8Array.from({ length: 3000 }, (_, index) => (index * 7919) % 251);

/** Creates a built page with private files next to its folder. Returns its path. */
function createBuiltPage(): string {
  const folder = join(temporaryFolder(), "page");
  mkdirSync(join(folder, "assets", "deeper"), { recursive: true });
  writeFileSync(join(folder, "index.html"), index);
  writeFileSync(join(folder, "build.json"), "secret of the build");
  writeFileSync(join(folder, "..", "outside.txt"), "secret outside");
  for (const [name, bytes] of Object.entries({
    "main-abc.js": script,
    "style-abc.css": "p { color: red; }",
    "icon-abc.svg": "<svg/>",
    "font-abc.woff2": font,
    "odd-abc.xyz": "odd",
    "deeper/inner.js": "secret deeper",
  }))
    writeFileSync(join(folder, "assets", name), bytes);
  symlinkSync(join(folder, "..", "outside.txt"), join(folder, "assets", "link.js"));
  return folder;
}

const start = (pageFolder = createBuiltPage()): Promise<TestGateway> =>
  testGateway(demo, { pageFolder });
const get = (url: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(url, { headers });

describe("the built page", () => {
  test("is served at /, with a policy that runs only its own files", async () => {
    const { url } = await start();
    const response = await get(url);
    expect(response.status).toBe(200);
    expect(await response.text()).toBe(index);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-cache",
      "content-security-policy":
        "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'none'; img-src 'self' blob: data:; media-src 'self' blob:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
      "cross-origin-opener-policy": "same-origin",
      "permissions-policy": expect.stringContaining("microphone=()") as string,
    });
  });

  test("has its files under /assets, with media types and permanent caching", async () => {
    const { url } = await start();
    for (const [name, type] of [
      ["main-abc.js", "text/javascript; charset=utf-8"],
      ["style-abc.css", "text/css; charset=utf-8"],
      ["icon-abc.svg", "image/svg+xml"],
      ["font-abc.woff2", "font/woff2"],
      ["odd-abc.xyz", "application/octet-stream"],
    ] as const) {
      const response = await get(`${url}/assets/${name}`);
      expect([name, response.status]).toEqual([name, 200]);
      expect(Object.fromEntries(response.headers)).toMatchObject({
        "content-type": type,
        "cache-control": "public, max-age=31536000, immutable",
        "x-content-type-options": "nosniff",
      });
    }
  });

  test("needs no token, even if tokens are configured", async () => {
    const { url } = await testGateway(`${demo}tokens = ["token-0123456789"]\n`, {
      pageFolder: createBuiltPage(),
    });
    expect((await get(url)).status).toBe(200);
    expect((await get(`${url}/assets/main-abc.js`)).status).toBe(200);
    expect((await get(`${url}/v1/models`)).status).toBe(401);
  });

  test("is compressed as the browser prefers, and decompresses to the same bytes", async () => {
    const { url } = await start();
    for (const [accepted, encoding] of [
      ["gzip, deflate, br, zstd", "br"],
      ["BR", "br"],
      ["gzip;q=0.5", "gzip"],
      ["br;q=0, gzip;q=1.0", "gzip"],
      ["br;q=0.0", null],
      ["identity", null],
      ["brotli", null],
    ] as const) {
      const response = await get(`${url}/assets/main-abc.js`, { "accept-encoding": accepted });
      expect([accepted, response.headers.get("content-encoding")]).toEqual([accepted, encoding]);
      expect(response.headers.get("vary")).toBe("accept-encoding");
      expect(await response.text()).toBe(script);
    }
    const bare = await sendBytes(
      url,
      "GET /assets/main-abc.js HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n",
    );
    expect(bare).not.toMatch(/content-encoding/i);
    expect(bare).toContain(script);
  });

  test("is sent compressed only if that is smaller", async () => {
    const { url } = await start();
    for (const [encoding, unpack] of [
      ["br", brotliDecompressSync],
      ["gzip", gunzipSync],
    ] as const) {
      const bytes = await fetchRawBody(`${url}/assets/main-abc.js`, encoding);
      expect(bytes.length).toBeLessThan(script.length / 10);
      expect(String(unpack(bytes))).toBe(script);
      for (const name of ["font-abc.woff2", "icon-abc.svg"]) {
        const response = await get(`${url}/assets/${name}`, { "accept-encoding": encoding });
        expect(response.headers.get("content-encoding")).toBeNull();
      }
    }
    const same = new Uint8Array(await (await get(`${url}/assets/font-abc.woff2`)).arrayBuffer());
    expect(same).toEqual(font);
  });

  test("is not sent again to a browser that has it, unless it has changed", async () => {
    const page = createBuiltPage();
    const { url } = await start(page);
    for (const path of ["/", "/assets/main-abc.js"]) {
      const etag = (await get(url + path)).headers.get("etag") ?? "";
      expect(etag).toMatch(/^W\/"[\w-]+"$/);
      for (const known of [etag, `"other", ${etag}`, "*"]) {
        const secondReply = await sendRawRequest(url + path, {
          method: "GET",
          headers: { "if-none-match": known },
        });
        expect([secondReply.status, secondReply.text]).toEqual([304, ""]);
        expect(secondReply.headers).toMatchObject({ etag, vary: "accept-encoding" });
        expect(secondReply.headers["content-security-policy"]).toContain("default-src 'none'");
      }
      expect((await get(url + path, { "if-none-match": `W/"other"` })).status).toBe(200);
    }
    const before = (await get(url)).headers.get("etag") ?? "";
    writeFileSync(join(page, "index.html"), `${index}<p>new</p>`);
    const next = await start(page);
    expect((await get(next.url, { "if-none-match": before })).status).toBe(200);
  });

  test("answers HEAD with the same headers and no body", async () => {
    const { url } = await start();
    for (const path of ["/", "/assets/main-abc.js"]) {
      const options = { headers: { "accept-encoding": "br" } };
      const getReply = await sendRawRequest(url + path, { method: "GET", ...options });
      const head = await sendRawRequest(url + path, { method: "HEAD", ...options });
      const { date: _1, "x-request-id": _2, ...expected } = getReply.headers;
      expect(head.headers).toMatchObject(expected);
      expect([head.status, head.text]).toEqual([200, ""]);
    }
  });

  test("gives no access outside of its folder, for any path", async () => {
    const { url } = await start();
    for (const path of [
      "/assets/",
      "/assets",
      "/assets/none.js",
      "/assets/link.js",
      "/assets/deeper",
      "/assets/deeper/inner.js",
      "/assets/deeper%2Finner.js",
      "/assets/..%2Fbuild.json",
      "/assets/%2e%2e%2fbuild.json",
      "/assets/..%5Cbuild.json",
      "/assets/..%2F..%2Foutside.txt",
      "/assets/../build.json",
      "/assets/../../outside.txt",
      "/assets/./../../outside.txt",
      "/assets//main-abc.js",
      "/assets/main-abc.js%00",
      "/assets/main-abc.js%00.css",
      "/assets/__proto__",
      "/assets/constructor",
      "/assets/%E0%A4%A",
      "/build.json",
      "/index.html",
      "/page/index.html",
    ]) {
      // Sent unchanged; fetch would normalize the path.
      const reply = await sendBytes(
        url,
        `GET ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`,
      );
      expect([path, reply.split("\r\n")[0]]).toEqual([path, "HTTP/1.1 404 Not Found"]);
      expect(reply).not.toContain("secret");
      const body = JSON.parse(reply.slice(reply.indexOf("\r\n\r\n") + 4)) as { error: object };
      expect(body.error).toMatchObject({ type: "not_found_error", code: "not_found" });
    }
  });

  test("accepts no other method", async () => {
    const { url } = await start();
    for (const path of ["/", "/assets/main-abc.js"]) {
      const response = await fetch(url + path, { method: "POST" });
      expect([response.status, response.headers.get("allow")]).toEqual([405, "GET"]);
    }
  });

  test("stays available from memory if its folder is removed", async () => {
    const page = createBuiltPage();
    const { url } = await start(page);
    await get(url);
    rmSync(page, { recursive: true });
    expect(await (await get(url)).text()).toBe(index);
    expect(await (await get(`${url}/assets/main-abc.js`)).text()).toBe(script);
  });
});

describe("a page that is not built", () => {
  test("is replaced at / by how to build it and how to connect", async () => {
    const { url } = await start(join(temporaryFolder(), "none"));
    const response = await get(url);
    const text = await response.text();
    expect(response.headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(text).toContain("npm run build:page");
    expect(text).toContain('model_provider = "deltawire"');
    expect((await get(`${url}/assets/main-abc.js`)).status).toBe(404);
  });

  test("is served as soon as it is built, without a restart", async () => {
    const page = createBuiltPage();
    const { url } = await start(join(page, "later"));
    expect(await (await get(url)).text()).toContain("npm run build:page");
    mkdirSync(join(page, "later", "assets"), { recursive: true });
    writeFileSync(join(page, "later", "index.html"), index);
    expect(await (await get(url)).text()).toBe(index);
  });
});

/** Requests a URL and returns the transferred bytes, which fetch would decompress. */
function fetchRawBody(url: string, encoding: string): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { headers: { "accept-encoding": encoding } }, (reply) => {
      const chunks: Buffer[] = [];
      reply.on("data", (chunk: Buffer) => chunks.push(chunk));
      reply.on("end", () => resolve(Buffer.concat(chunks)));
    });
    sent.on("error", reject).end();
  });
}
