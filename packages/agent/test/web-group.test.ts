import { createServer, type RequestListener, type Server } from "node:http";
import { createServer as createTcpServer, type AddressInfo } from "node:net";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { webGroup, type WebOptions } from "@deltawire/agent";
import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { isPublicAddress } from "../src/tool-groups/public-address.ts";
import { runTool, toolContext, getTool } from "./tool-context.ts";

const servers: Server[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

/** Starts a server. Returns its `127.0.0.1:port`. */
async function startServer(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const fetchPage = (
  url: string,
  options: WebOptions = {},
  context = toolContext(),
): Promise<unknown> => runTool(webGroup(options), "fetch_page", { url }, context);

async function fetchText(
  contentType: string,
  body: string | Uint8Array,
  options: WebOptions = {},
): Promise<string> {
  const host = await startServer((_, response) => {
    response.setHeader("content-type", contentType);
    response.end(body);
  });
  const output = await fetchPage(`http://${host}/`, { allowPrivate: true, ...options });
  return (output as { block_list: { text: string }[] }).block_list[0]?.text ?? "";
}

test("fetch_page is pure and needs no approval by default", () => {
  expect(getTool(webGroup(), "fetch_page")).toMatchObject({
    effect: "pure",
    approval: { call: "auto" },
  });
  expect(getTool(webGroup({ approval: "ask_once" }), "fetch_page").approval.call).toBe("ask_once");
});

describe("the result of fetch_page", () => {
  test("for a page can be cited, with title and URL", async () => {
    const host = await startServer((request, response) => {
      expect(request.url).toBe("/a?b=1");
      response.setHeader("content-type", "text/html; charset=utf-8");
      response.end("<title>On &amp; on</title><h1>Hello</h1><p>W\u00f6rld");
    });
    const url = `http://${host}/a?b=1`;
    const text = "# Hello\n\nW\u00f6rld";
    expect(await fetchPage(`${url}#part`, { allowPrivate: [host] })).toEqual({
      message_content: [
        { type: "text", text: `On & on\n${url}#part`, id: `${url}#part` },
        { type: "text", text, id: `${url}#part` },
      ],
      block_list: [{ type: "text", text, id: `${url}#part`, title: "On & on", url: `${url}#part` }],
    });
  });

  test("for JSON and text is the text itself, and for an image the image", async () => {
    expect(await fetchText("application/json", '{"a": [1]}')).toBe('{"a": [1]}');
    expect(await fetchText("application/problem+json; charset=utf-8", "{}")).toBe("{}");
    expect(await fetchText("text/plain", "<b>x</b>")).toBe("<b>x</b>");
    const png = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ", "base64");
    const host = await startServer((_, response) => {
      response.setHeader("content-type", "image/png");
      response.end(png);
    });
    expect(await fetchPage(`http://${host}/x.png`, { allowPrivate: true })).toMatchObject({
      message_content: [{ type: "image", bytes: png, media_type: "image/png" }],
      block_list: [{ type: "image", bytes: png, media_type: "image/png" }],
    });
  });

  test("is decoded with the charset that the server or the page declares", async () => {
    const latin = Buffer.from("<p>caf\u00e9</p>", "latin1");
    expect(await fetchText("text/html; charset=ISO-8859-1", latin)).toBe("caf\u00e9");
    const page = Buffer.from('<meta charset="windows-1252"><p>caf\u00e9</p>', "latin1");
    expect(await fetchText("text/html", page)).toBe("caf\u00e9");
    expect(await fetchText("text/plain; charset=klingon", "caf\u00e9")).toBe("caf\u00e9");
    const japanese = Buffer.from([0x3c, 0x70, 0x3e, 0x93, 0xfa, 0x96, 0x7b]);
    expect(await fetchText("text/html; charset=Shift_JIS", japanese)).toBe("\u65e5\u672c");
    const wide = Buffer.from("<p>caf\u00e9", "utf16le");
    expect(await fetchText("text/html; charset=utf-16le", wide)).toBe("caf\u00e9");
  });

  test("is decoded by its byte order mark, whatever charset the server declares", async () => {
    const wide = Buffer.from("\ufeff<p>caf\u00e9", "utf16le");
    expect(await fetchText("text/html; charset=utf-8", wide)).toBe("caf\u00e9");
    expect(await fetchText("text/html", Buffer.from(wide).swap16())).toBe("caf\u00e9");
    expect(await fetchText("text/html; charset=iso-8859-1", "\ufeff<p>caf\u00e9")).toBe(
      "caf\u00e9",
    );
  });

  test.each([
    ["gzip", gzipSync],
    ["deflate", deflateSync],
    ["br", brotliCompressSync],
  ])("with the encoding %s is decompressed", async (encoding, pack) => {
    const host = await startServer((_, response) => {
      response.setHeader("content-type", "text/plain");
      response.setHeader("content-encoding", encoding);
      response.end(pack("unpacked"));
    });
    expect(await fetchPage(`http://${host}/`, { allowPrivate: true })).toMatchObject({
      block_list: [{ text: "unpacked" }],
    });
  });

  test("is an error with the media type if the content is not text", async () => {
    await expect(fetchText("application/pdf", "%PDF")).rejects.toThrow("application/pdf cannot be");
    await expect(fetchText("text/plain", "a\0b")).rejects.toThrow("cannot be shown as text");
  });

  test("for an error status is an error with the server's text", async () => {
    const host = await startServer((_, response) => {
      response.statusCode = 404;
      response.setHeader("content-type", "text/html");
      response.end("<p>No such page");
    });
    await expect(fetchPage(`http://${host}/`, { allowPrivate: true })).rejects.toThrow(
      `${host} answered 404 Not Found\nNo such page`,
    );
  });

  test("is that of the last page after redirects, up to a limit", async () => {
    const host = await startServer((request, response) => {
      const step = Number(request.url?.slice(1));
      if (step !== 3)
        response.writeHead(302, { location: step > 9 ? `/${step + 1}` : `${step + 1}` });
      response.end("there");
    });
    expect(await fetchPage(`http://${host}/1`, { allowPrivate: true })).toMatchObject({
      block_list: [{ text: "there", url: `http://${host}/3` }],
    });
    await expect(fetchPage(`http://${host}/10`, { allowPrivate: true })).rejects.toThrow(
      "more than 5 redirects",
    );
  });
});

describe("limits", () => {
  test("text is truncated at the size limit, and the rest is not read", async () => {
    let sent = 0;
    const host = await startServer((_, response) => {
      response.setHeader("content-type", "text/plain");
      const writeMore = (): void => {
        while (!response.destroyed && sent < 500e6) {
          sent += 65_536;
          if (!response.write("x".repeat(65_536))) return void response.once("drain", writeMore);
        }
      };
      writeMore();
    });
    const output = await fetchPage(`http://${host}/`, { allowPrivate: true, maxBytes: 100_000 });
    const text = (output as { block_list: { text: string }[] }).block_list[0]?.text ?? "";
    expect(text).toBe(`${"x".repeat(100_000)}\n\n(only the first 100000 bytes)`);
    expect(sent).toBeLessThan(50e6);
  });

  test("decompression stops at the size limit", async () => {
    const bomb = gzipSync(Buffer.alloc(200e6, "y"), { level: 9 });
    const host = await startServer((_, response) => {
      response.setHeader("content-type", "text/plain");
      response.setHeader("content-encoding", "gzip");
      response.end(bomb);
    });
    const before = process.memoryUsage().rss;
    const output = await fetchPage(`http://${host}/`, { allowPrivate: true, maxBytes: 1_000 });
    expect(JSON.stringify(output)).toContain("only the first 1000 bytes");
    expect(process.memoryUsage().rss - before).toBeLessThan(100e6);
  });

  test("an image above the size limit is rejected", async () => {
    const host = await startServer((_, response) => {
      response.setHeader("content-type", "image/gif");
      response.end(`GIF89a${"x".repeat(2_000)}`);
    });
    await expect(
      fetchPage(`http://${host}/`, { allowPrivate: true, maxBytes: 1_000 }),
    ).rejects.toThrow("larger than 1000 bytes");
  });

  test.each<[string, RequestListener]>([
    ["never answers", () => {}],
    [
      "sends 1xx replies now and then",
      (_, response) => {
        const timer = setInterval(() => response.writeProcessing(), 30);
        response.once("close", () => clearInterval(timer));
      },
    ],
    [
      "sends compressed bytes that decompress to nothing",
      (_, response) => {
        response.writeHead(200, { "content-type": "text/plain", "content-encoding": "gzip" });
        const empty = gzipSync("");
        const timer = setInterval(() => response.write(empty), 30);
        response.once("close", () => clearInterval(timer));
      },
    ],
    [
      "sends a byte now and then",
      (_, response) => {
        response.setHeader("content-type", "text/plain");
        const timer = setInterval(() => response.write("x"), 30);
        response.once("close", () => clearInterval(timer));
      },
    ],
  ])("a server that %s is aborted at the timeout", async (_, listener) => {
    const host = await startServer(listener);
    const started = performance.now();
    await expect(
      fetchPage(`http://${host}/`, { allowPrivate: true, timeoutMs: 300 }),
    ).rejects.toThrow("no complete response within 0.3 s");
    expect(performance.now() - started).toBeLessThan(5_000);
  });

  test.each([
    [
      "switches protocols",
      "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
      "101",
    ],
    ["floods with 1xx", "HTTP/1.1 102 Processing\r\n\r\n".repeat(5000), "no final response"],
    ["has endless headers", `HTTP/1.1 200 OK\r\n${"x-a: b\r\n".repeat(20_000)}`, "Header"],
    ["disconnects before its response", "HTTP/1.1 200", "could not be reached"],
  ])("a server that %s fails immediately", async (_, bytes, problem) => {
    const server = createTcpServer((socket) => {
      socket.on("error", () => undefined);
      socket.write(bytes);
      if (problem === "could not be reached") socket.end();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    try {
      await expect(
        fetchPage(`http://127.0.0.1:${port}/`, { allowPrivate: true, timeoutMs: 10_000 }),
      ).rejects.toThrow(problem);
    } finally {
      server.close();
    }
  });

  test("canceling the call closes the connection", async () => {
    const abort = new AbortController();
    let closed: Promise<unknown> = Promise.resolve();
    const host = await startServer((request) => {
      closed = new Promise((resolve) => request.socket.once("close", resolve));
      abort.abort(new Error("cancelled"));
    });
    const context = toolContext({ signal: abort.signal });
    await expect(fetchPage(`http://${host}/`, { allowPrivate: true }, context)).rejects.toThrow(
      "cancelled",
    );
    await closed;
  });

  test("a truncated response is an error, not a partial page", async () => {
    const host = await startServer((_, response) => {
      response.writeHead(200, { "content-type": "text/plain", "content-length": "100" });
      response.write("half");
      setTimeout(() => response.destroy(), 20);
    });
    await expect(fetchPage(`http://${host}/`, { allowPrivate: true })).rejects.toThrow(
      "the response was cut off",
    );
  });
});

describe("only pages on the public internet can be fetched", () => {
  test.each([
    "file:///etc/passwd",
    "ftp://example.com/",
    "data:text/plain,x",
    "gopher://x/",
    "javascript:1",
  ])("%s is not fetched", async (url) => {
    await expect(fetchPage(url)).rejects.toThrow("only http and https URLs can be fetched");
  });

  test("invalid URLs and URLs with a password are rejected", async () => {
    await expect(fetchPage("example.com")).rejects.toThrow("is not a valid URL");
    await expect(fetchPage("http://")).rejects.toThrow("is not a valid URL");
    await expect(fetchPage("http://me:secret@example.com/")).rejects.toThrow("password");
  });

  test.each([
    "127.0.0.1",
    "127.1",
    "2130706433",
    "0x7f000001",
    "0177.0.0.1",
    "017700000001",
    "0",
    "0.0.0.0",
    "10.1.2.3",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "169.254.169.254",
    "0xa9fea9fe",
    "100.100.100.200",
    "168.63.129.16",
    "224.0.0.1",
    "255.255.255.255",
    "[::1]",
    "[::]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[0:0:0:0:0:ffff:a9fe:a9fe]",
    "[::127.0.0.1]",
    "[64:ff9b::10.0.0.1]",
    "[2002:7f00:1::]",
    "[2001:0:7f00:1::]",
    "[fe80::1]",
    "[fc00::1]",
    "[fd00:ec2::254]",
    "[ff02::1]",
    "\uff11\uff12\uff17.0.0.1",
    "127\u30020\u30020\u30021",
    "127.0.0.1.",
  ])("http://%s/ is rejected without a connection", async (host) => {
    const resolve = (): never => {
      throw new Error("looked up");
    };
    await expect(fetchPage(`http://${host}/`, { resolve })).rejects.toThrow(
      "is not on the public internet",
    );
  });

  test.each(["1.1.1.1", "172.32.0.1", "192.167.255.255", "100.128.0.1", "223.255.255.255"])(
    "%s is public",
    (address) => {
      expect(isPublicAddress(address)).toBe(true);
      expect(isPublicAddress(`::ffff:${address}`)).toBe(true);
      expect(isPublicAddress(`64:ff9b::${address}`)).toBe(true);
    },
  );

  test("of IPv6 addresses, only global ones are public", () => {
    for (const address of ["2606:4700::1111", "2001:4860:4860::8888", "2a00::1"])
      expect(isPublicAddress(address)).toBe(true);
    for (const address of ["2001:db8::1", "3fff::1", "fe80::1%eth0", "4000::1", "x", ""])
      expect(isPublicAddress(address)).toBe(false);
  });

  test("the notation of an IPv4 address does not matter", () => {
    const byte = fc.oneof(fc.constantFrom(0, 10, 127, 169, 172, 192, 254), fc.nat(255));
    fc.assert(
      fc.property(fc.tuple(byte, byte, byte, byte), (bytes) => {
        const address = bytes.join(".");
        const number = bytes.reduce((sum, part) => sum * 256 + part, 0);
        const forms = [`${number}`, `0x${number.toString(16)}`, `0${number.toString(8)}`];
        for (const form of forms) {
          const { hostname } = new URL(`http://${form}/`);
          expect(isPublicAddress(hostname)).toBe(isPublicAddress(address));
        }
        expect(isPublicAddress(`::ffff:${address}`)).toBe(isPublicAddress(address));
      }),
    );
  });

  test("localhost is rejected", async () => {
    const host = await startServer((_, response) => response.end("inside"));
    const port = host.split(":")[1];
    await expect(fetchPage(`http://localhost:${port}/`)).rejects.toThrow(
      `localhost:${port} is not on the public internet`,
    );
  });

  test("a name that only resolves to private addresses is rejected", async () => {
    let reached = false;
    const host = await startServer((_, response) => {
      reached = true;
      response.end("inside");
    });
    const resolve = async (): Promise<{ address: string; family: number }[]> => [
      { address: "127.0.0.1", family: 4 },
      { address: "::ffff:127.0.0.1", family: 6 },
      { address: "192.0.2.1", family: 4 },
    ];
    const url = `http://pages.example:${host.split(":")[1]}/`;
    await expect(fetchPage(url, { resolve })).rejects.toThrow("is not on the public internet");
    expect(reached).toBe(false);
  });

  test("a name is resolved only once, so that the address that was checked is used", async () => {
    const host = await startServer((request, response) =>
      response.end(`for ${request.headers.host}`),
    );
    const port = host.split(":")[1];
    let lookups = 0;
    const resolve = async (): Promise<{ address: string; family: number }[]> => {
      lookups += 1;
      return [{ address: "127.0.0.1", family: 4 }];
    };
    const name = `pages.example:${port}`;
    expect(await fetchPage(`http://${name}/`, { resolve, allowPrivate: [name] })).toMatchObject({
      block_list: [{ text: `for ${name}` }],
    });
    expect(lookups).toBe(1);
  });

  test("a name that cannot be resolved is an error with the reason", async () => {
    const resolve = async (): Promise<never> => {
      throw new Error("ENOTFOUND");
    };
    await expect(fetchPage("http://pages.example/", { resolve })).rejects.toThrow(
      "pages.example could not be reached: ENOTFOUND",
    );
  });

  test.each([
    ["another host", (inner: string) => `http://${inner}/`],
    [
      "another notation of the address",
      (inner: string) => `http://2130706433:${inner.split(":")[1]}/`,
    ],
    ["a name of the address", (inner: string) => `http://localhost:${inner.split(":")[1]}/`],
    ["no scheme", (inner: string) => `//${inner}/`],
    ["a file", () => "file:///etc/passwd"],
  ])("a redirect to a private address or a file is not followed: %s", async (_, to) => {
    let reached = false;
    const inner = await startServer((_request, response) => {
      reached = true;
      response.end("inside");
    });
    const outer = await startServer((_request, response) => {
      response.writeHead(302, { location: to(inner) });
      response.end();
    });
    await expect(fetchPage(`http://${outer}/`, { allowPrivate: [outer] })).rejects.toThrow(
      /is not on the public internet|only http and https URLs/,
    );
    expect(reached).toBe(false);
  });
});
