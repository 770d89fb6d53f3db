import {
  runningAnswers,
  type Chat,
  type ChatChoices,
  type ChatSettings,
  type ModelChoice,
  type ModelType,
} from "@deltawire/tasks/chats";
import { useMemo } from "react";
import { useCommands } from "../hooks/use-page.ts";
import { useWords } from "../words/use-words.ts";
import { composerWords } from "./composer-words.ts";

/** One of the two, or neither: then as the gateway is configured. */
export type Who = Pick<ChatSettings, "agent" | "model">;

export interface Answerer {
  readonly is: "agent" | "model";
  readonly name: string;
  /** What is known of the model behind it; undefined of one that the gateway does not list. */
  readonly model: ModelChoice | undefined;
}

/** Who would answer in a chat with these settings; undefined where nothing is configured. */
export function answererIn(
  settings: Who,
  { defaults, agents, models }: ChatChoices,
): Answerer | undefined {
  const who = isSaid(settings) ? settings : defaults;
  const name = who.agent ?? who.model;
  if (name === undefined) return undefined;
  const agent = agents.find((each) => each.name === name);
  const modelName = agent?.model ?? name;
  return {
    is: agent === undefined && who.agent === undefined ? "model" : "agent",
    name,
    model: models.find((each) => each.name === modelName),
  };
}

/** Who writes the answer of a task; undefined where it is not known. */
export function whoAnswersNow(chat: Chat, taskId: string): string | undefined {
  const running = runningAnswers(chat).find((each) => each.task_id === taskId);
  const node = running && chat.nodes[running.node_id];
  if (node?.kind !== "answer") return undefined;
  const version = node.versions.find(({ version_id }) => version_id === running?.version_id);
  return version?.agent ?? version?.model;
}

export function isSaid({ agent, model }: Who): boolean {
  return agent !== undefined || model !== undefined;
}

export type ChoiceGroup = "default" | "agents" | "chat" | "pictures" | "sound" | "written";

/** An entry of the picker. */
export interface Choice {
  readonly id: string;
  readonly group: ChoiceGroup;
  readonly who: Who;
  readonly name: string;
  readonly description: string;
  readonly model: ModelChoice | undefined;
}

/** All that can answer, in the order in which it is offered. */
export function choicesToPick(choices: ChatChoices): Choice[] {
  const { agents, models } = choices;
  const usual = answererIn({}, choices);
  const all: Choice[] = [
    ...(usual === undefined ? [] : [{ ...entryOf("default", usual.name, {}), model: usual.model }]),
    ...agents.map(({ name, description, model }) => ({
      ...entryOf("agents", name, { agent: name }, description),
      model: models.find((each) => each.name === model),
    })),
    ...models.map((model) => ({
      ...entryOf(groupOf[model.type], model.name, { model: model.name }),
      model,
    })),
  ];
  return groups.flatMap((group) => all.filter((each) => each.group === group));
}

const groups: readonly ChoiceGroup[] = ["default", "agents", "chat", "pictures", "sound"];

const groupOf: Readonly<Record<ModelType, ChoiceGroup>> = {
  chat: "chat",
  "image-gen": "pictures",
  "image-edit": "pictures",
  "audio-stt": "sound",
  "audio-tts": "sound",
};

function entryOf(group: ChoiceGroup, name: string, who: Who, description = "") {
  return { id: `${group} ${name}`, group, who, name, description };
}

/** Those that have every word of the query in their names or descriptions. */
export function choicesFound(choices: readonly Choice[], query: string): readonly Choice[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return choices;
  return choices.filter(({ group, name, description }) => {
    const text = `${name} ${description}`.toLowerCase();
    return group !== "default" && words.every((word) => text.includes(word));
  });
}

/**
 * A model by the name that somebody has written, `upstream/model`, where none of that name is offered: a server may answer
 * and list nothing. Undefined: that is no such name.
 */
export function writtenChoice(
  query: string,
  choices: readonly Choice[],
  upstreams: ChatChoices["upstreams"],
): Choice | undefined {
  const name = query.trim();
  const slash = name.indexOf("/");
  const isName = slash > 0 && slash < name.length - 1 && !/\s/.test(name);
  if (!isName || upstreams.every((each) => each.name !== name.slice(0, slash))) return undefined;
  if (choices.some((each) => each.name === name)) return undefined;
  return { ...entryOf("written", name, { model: name }), model: undefined };
}

/** As the patch of a chat's settings says it: who is not named is taken out. */
export function patchFor({ agent, model }: Who) {
  return { agent: agent ?? null, model: model ?? null };
}

interface AnswererCommandsProps {
  choices: ChatChoices;
  onChoose: (who: Who) => void;
}

/** More than a palette has room for, beside everything else in it. */
const many = 6;

/** All that can answer, for the palette. */
export function AnswererCommands({ choices, onChoose }: AnswererCommandsProps) {
  const words = useWords(composerWords);
  const offered = useMemo(
    () => choicesToPick(choices).filter(({ group }) => group !== "default"),
    [choices],
  );
  useCommands(
    offered.map(({ id, name, description, who }) => ({
      id: `answer with ${id}`,
      title: words.answerWith(name),
      group: words.group,
      words: description,
      onlyFound: offered.length > many,
      run: () => onChoose(who),
    })),
  );
  return null;
}
