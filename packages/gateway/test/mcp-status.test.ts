import { expect, test } from "vitest";
import { temporaryFolder } from "./deltawire-process.ts";
import { testGateway } from "./gateway-fixture.ts";

/* An MCP server whose program does not exist. */

test("an MCP server with a missing program is reported in the log and the status, and the gateway still serves", async () => {
  const node = JSON.stringify(process.execPath);
  const folder = JSON.stringify(temporaryFolder());
  const gateway = await testGateway(
    `[server]\nport = 0\ndemo = true
[mcp.tickets]\ncommand = "deltawire-no-such-program"
[mcp.beside]\ncommand = "./no-such-script"\ncwd = ${folder}
[mcp.there]\ncommand = ${node}
[mcp.far]\nurl = "https://mcp.example.org/mcp"
`,
  );
  const missing =
    'MCP server "tickets": program "deltawire-no-such-program" not found on the PATH; install it, or correct command in [mcp.tickets]. Its tools are unavailable until then';
  const warnings = gateway.lines.map((line) => JSON.parse(line) as { level: number; msg: string });
  expect(warnings).toContainEqual(expect.objectContaining({ level: 40, msg: missing }));
  const { mcp } = (await (await fetch(`${gateway.url}/deltawire/upstreams`)).json()) as {
    mcp: { name: string; problem?: string }[];
  };
  expect(mcp).toEqual([
    { name: "tickets", problem: missing },
    { name: "beside", problem: expect.stringMatching(/program ".\/no-such-script" not found; /) },
    { name: "there" },
    { name: "far" },
  ]);
  const reply = await gateway.post("/responses", { model: "demo/clean", input: "Hello" });
  expect(reply.status).toBe(200);
});
