export { createDemoAgents } from "./agents.ts";
export { generateMarkdown } from "./long-text.ts";
export { createSampleImage, createSampleAudio, readAudioComment } from "./sample-media.ts";
export { startDemoServer, type DemoServer, type DemoServerOptions } from "./server.ts";
