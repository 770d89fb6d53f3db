export { demoAgents } from "./agents.ts";
export { longMarkdown } from "./long-answer.ts";
export { pictureFor, toneFor, wordsIn } from "./media.ts";
export { startDemo, type Demo, type DemoOptions } from "./server.ts";
