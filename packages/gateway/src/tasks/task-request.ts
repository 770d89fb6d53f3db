import { validateModelOptions } from "@deltawire/agent";
import {
  issuePath,
  limitsSchema,
  readonlyArray,
  maxMessageCharacters,
  modelOptionsSchema,
  strictObject,
  optionalFields,
  resourceName,
  taskInputSchema,
} from "@deltawire/tasks/chats";
import * as v from "valibot";

/** The body of `POST /api/tasks`. The other fields of a task request are set only by chats and translated protocols. */
export const taskRequestSchema = v.pipe(
  strictObject(
    {
      ...optionalFields({
        agent: v.pipe(resourceName, v.description("The name of an agent.")),
        model: v.pipe(resourceName, v.description("A model name from GET /v1/models.")),
      }),
      input: taskInputSchema,
      ...optionalFields({
        instructions: v.pipe(v.string(), v.maxLength(maxMessageCharacters)),
        tool_groups: readonlyArray(
          v.pipe(v.string(), v.nonEmpty("must be the name of a tool group"), v.maxLength(300)),
        ),
        session_id: resourceName,
        limits: strictObject(limitsSchema.entries, { nullIsAbsent: true }),
        options: v.pipe(
          modelOptionsSchema,
          v.rawCheck(({ dataset: { typed, value: input }, addIssue }) => {
            const [problem] = typed ? validateModelOptions(input) : [];
            if (problem === undefined) return;
            const [, key = "", message = problem] = /^([\w.[\]-]+): ([^]*)$/.exec(problem) ?? [];
            addIssue({
              message,
              ...(key === "" ? {} : { path: issuePath(input, key) }),
            });
          }),
        ),
        include: readonlyArray(v.literal("content")),
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
        : { message: "expected either agent or model, not both", path: issuePath(input, "model") },
    );
  }),
  v.metadata({ oneOf: [{ required: ["agent"] }, { required: ["model"] }] }),
);
