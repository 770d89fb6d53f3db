import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startDeltawire, temporaryFolder } from "./deltawire-process.ts";
import { scriptedUpstream } from "./scripted-upstream.ts";

/** Code that a gateway needs only for tasks, chats, some settings or some requests, with a file that it cannot do without. */
const onDemand = {
  "the runtime of tasks": "packages/agent/src/runtime.ts",
  chats: "packages/agent/src/chats/chats.ts",
  "tools of agents": "packages/agent/src/define-tool.ts",
  MCP: "@modelcontextprotocol/",
  PDF: "node_modules/unpdf/",
  HTML: "node_modules/htmlparser2/",
  "the demo model": "packages/demo/",
  PostgreSQL: "node_modules/pg/",
  Redis: "node_modules/@redis/",
  S3: "node_modules/aws4fetch/",
  "the configurations of other programs": "packages/gateway/src/migrate/prepare-migration.ts",
  "the index of undici": "node_modules/undici/index.js",
  "fetch of undici": "node_modules/undici/lib/web/fetch/index.js",
  "proxies of undici": "node_modules/undici/lib/dispatcher/env-http-proxy-agent.js",
};

const completion = {
  object: "chat.completion",
  choices: [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }],
};

test("a gateway that only forwards requests does not load the code for anything else", async () => {
  const upstream = await scriptedUpstream((_request, response) => {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(completion));
  });
  const folder = temporaryFolder(
    `[server]\nport = 0\n[upstreams.up]\nbase_url = "${upstream.url}"\nspeaks = "chat"\n`,
  );
  const file = join(folder, "modules.txt");
  const recorder = `
    import { appendFileSync } from "node:fs";
    import { registerHooks } from "node:module";
    registerHooks({ load(url, context, next) {
      appendFileSync(${JSON.stringify(file)}, url + "\\n");
      return next(url, context);
    } });`;
  const isLoaded = (part: string): boolean => readFileSync(file, "utf8").includes(part);
  const listLoaded = (): string[] =>
    Object.entries(onDemand).flatMap(([name, part]) => (isLoaded(part) ? [name] : []));
  try {
    const deltawire = startDeltawire(["--data", "data"], {
      cwd: folder,
      env: {
        NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(recorder)}`,
      },
    });
    const url = await deltawire.url;
    expect(isLoaded("packages/gateway/src/gateway.ts")).toBe(true);
    expect(listLoaded()).toEqual([]);
    const reply = await fetch(`${url}/v1/responses`, {
      method: "POST",
      body: JSON.stringify({ model: "up/small", input: "Hello" }),
    });
    expect(reply.status).toBe(200);
    expect((await fetch(`${url}/v1/models`)).status).toBe(200);
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    expect(listLoaded()).toEqual([]);

    // The first requests for tasks and chats load them once.
    const paths = ["/api/chats", "/api/tasks", "/api/approvals", "/api/chats"];
    const replies = await Promise.all(paths.map((path) => fetch(url + path)));
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(listLoaded()).toEqual(["the runtime of tasks", "chats", "tools of agents"]);
  } finally {
    await upstream.close();
  }
});
