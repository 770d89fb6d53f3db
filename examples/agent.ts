/*
 * An agent with two tools and a sub-agent, in thirty lines. Its model needs a running gateway (npm start):
 *
 *   node scripts/launch.cjs examples/agent.ts "Ask surveyor about the population of Rome"
 */
import { defineAgent, defineTool, createFetchModel, runTask } from "@deltawire/agent";

const baseUrl = process.env["DELTAWIRE_URL"] ?? "http://127.0.0.1:4141/v1";
const model = createFetchModel({ baseUrl, model: "demo/clean", speaks: "responses" });
const input = { properties: { city: { type: "string" } }, required: ["city"] };
const cityTool = (name: string, description: string, run: (at: { city: string }) => unknown) =>
  defineTool({ name, description, input, effect: "pure", run });

const weather = cityTool("get_weather", "The weather in a city.", ({ city }) => `${city}: sunny`);
const population = cityTool("get_population", "The population of a city.", ({ city }) => ({
  [city]: 1000 * city.length,
}));
const surveyor = defineAgent({
  name: "surveyor",
  description: "Knows the population of cities.",
  instructions: "You count people.",
  model,
  tools: [population],
});
const instructions = "You help travelers.";
const tools = [weather, population];
const guide = defineAgent({ name: "guide", instructions, model, tools, agents: [surveyor] });

const task = await runTask(guide, process.argv[2] ?? "Ask surveyor about the population of Paris");
for await (const event of task) {
  if (event.type === "task.created") console.log(`${event.task.agent} started`);
  if (event.type === "task.text.done") console.log(event.item.text);
  if (event.type === "task.output_item.done" && event.item.type === "tool_call")
    console.log(`${event.item.name} ${event.item.arguments}`);
}
console.log((await task.result).status);
