import { expect, test } from "vitest";
import { temporaryFolder } from "./deltawire-process.ts";
import { aGateway } from "./scene.ts";

/* An MCP server whose program is not there. */

test("is named in the log at the start and in the status, and the gateway serves all the same", async () => {
  const node = JSON.stringify(process.execPath);
  const folder = JSON.stringify(temporaryFolder());
  const gateway = await aGateway(
    `[server]\nport = 0\ndemo = true
[mcp.tickets]\ncommand = "deltawire-no-such-program"
[mcp.beside]\ncommand = "./no-such-script"\ncwd = ${folder}
[mcp.there]\ncommand = ${node}
[mcp.far]\nurl = "https://mcp.example.org/mcp"
`,
  );
  const missing =
    'MCP server "tickets": there is no program "deltawire-no-such-program" on the PATH; install it, or correct command in [mcp.tickets]. Its tools are missing until then';
  const warnings = gateway.lines.map((line) => JSON.parse(line) as { level: number; msg: string });
  expect(warnings).toContainEqual(expect.objectContaining({ level: 40, msg: missing }));
  const { mcp } = (await (await fetch(`${gateway.url}/deltawire/upstreams`)).json()) as {
    mcp: { name: string; problem?: string }[];
  };
  expect(mcp).toEqual([
    { name: "tickets", problem: missing },
    { name: "beside", problem: expect.stringMatching(/there is no program ".\/no-such-script"; /) },
    { name: "there" },
    { name: "far" },
  ]);
  const reply = await gateway.post("/responses", { model: "demo/clean", input: "Hello" });
  expect(reply.status).toBe(200);
});
