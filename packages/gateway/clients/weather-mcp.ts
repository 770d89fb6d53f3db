// A server of the Model Context Protocol on standard input and output, for a client that offers its tools to a model.
import { McpServer } from "@modelcontextprotocol/server";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

const server = new McpServer({ name: "weather", version: "1.0.0" });

server.registerTool(
  "forecast",
  {
    description: "The weather forecast for a city.",
    inputSchema: z.object({ city: z.string().describe("The name of the city") }),
  },
  ({ city }) => ({ content: [{ type: "text", text: `${city} will have 17 degrees and rain.` }] }),
);

await server.connect(new StdioServerTransport());
