import { checkOptions } from "@deltawire/agent";
import {
  issuePath,
  limits,
  list,
  maxMessageCharacters,
  modelOptions,
  object,
  optionalFields,
  resourceName,
  taskInput,
} from "@deltawire/tasks/chats";
import * as v from "valibot";

/** The body of `POST /api/tasks`. What else a task may be asked is said by chats and by the protocols of others only. */
export const taskRequest = v.pipe(
  object(
    {
      ...optionalFields({
        agent: v.pipe(resourceName, v.description("The name of an agent.")),
        model: v.pipe(resourceName, v.description("A name of GET /v1/models.")),
      }),
      input: taskInput,
      ...optionalFields({
        instructions: v.pipe(v.string(), v.maxLength(maxMessageCharacters)),
        tool_groups: list(
          v.pipe(v.string(), v.nonEmpty("must be the name of a tool group"), v.maxLength(300)),
        ),
        session_id: resourceName,
        limits: object(limits.entries, { nullIsAbsent: true }),
        options: v.pipe(
          modelOptions,
          v.rawCheck(({ dataset: { typed, value: input }, addIssue }) => {
            const [problem] = typed ? checkOptions(input) : [];
            if (problem === undefined) return;
            const [, key = "", message = problem] = /^([\w.[\]-]+): ([^]*)$/.exec(problem) ?? [];
            addIssue({
              message,
              ...(key === "" ? {} : { path: issuePath(input, key) }),
            });
          }),
        ),
        include: list(v.literal("content")),
      }),
    },
    { nullIsAbsent: true },
  ),
  v.rawCheck(({ dataset, addIssue }) => {
    if (!dataset.typed) return;
    const { value: input } = dataset;
    if ((input.agent === undefined) !== (input.model === undefined)) return;
    addIssue(
      input.agent === undefined
        ? { message: "is missing; name an agent or a model", path: issuePath(input, "agent") }
        : { message: "expected one of agent and model, not both", path: issuePath(input, "model") },
    );
  }),
  v.metadata({ oneOf: [{ required: ["agent"] }, { required: ["model"] }] }),
);
