import { useId, useMemo } from "react";
import { Input, Switch } from "../parts/field.tsx";
import { useWords } from "../words/use-words.ts";
import { ModelPicker } from "./model-picker.tsx";
import { SettingField, SettingGroup, type SectionProps } from "./setting-field.tsx";
import { settingsWords } from "./settings-words.ts";
import { choicesToPick, type Choice } from "./who-answers.tsx";

/** What the model is told of the chat, and who names it. */
export function ConversationSettings({ form, choices, defaults, errorAt, change }: SectionProps) {
  const words = useWords(settingsWords);
  const zonesId = useId();
  const usualNamer = defaults?.title_model ?? words.titleModelUsual;
  const namers = useMemo((): readonly Choice[] => {
    const usual: Choice = {
      id: "default",
      group: "default",
      who: {},
      name: usualNamer,
      description: "",
      model: undefined,
    };
    const models = choices === undefined ? [] : choicesToPick(choices);
    return [usual, ...models.filter(({ group }) => group === "chat")];
  }, [choices, usualNamer]);
  return (
    <>
      <SettingField
        label={words.turns}
        hint={words.turnsHint}
        error={errorAt("turns")}
        isSaid={form.turns !== ""}
        onReset={() => change("turns", { turns: "" })}
      >
        <Input
          inputMode="numeric"
          placeholder={defaults === undefined ? "" : words.usual(String(defaults.turns))}
          value={form.turns}
          onChange={({ currentTarget: { value } }) => change("turns", { turns: value })}
        />
      </SettingField>
      <SettingField
        label={words.timeZone}
        hint={words.timeZoneHint}
        error={errorAt("time_zone")}
        isSaid={form.timeZone !== ""}
        onReset={() => change("time_zone", { timeZone: "" })}
      >
        <Input
          list={zonesId}
          autoComplete="off"
          spellCheck={false}
          placeholder={defaults === undefined ? "" : words.usual(defaults.time_zone)}
          value={form.timeZone}
          onChange={({ currentTarget: { value } }) => change("time_zone", { timeZone: value })}
        />
      </SettingField>
      <datalist id={zonesId}>
        {timeZones().map((zone) => (
          <option key={zone} value={zone}>
            {zone}
          </option>
        ))}
      </datalist>
      <SettingGroup
        label={words.timeOfDay}
        error={errorAt("exact_time")}
        isSaid={form.exactTime !== undefined}
        onReset={() => change("exact_time", { exactTime: undefined })}
      >
        <Switch
          label={words.exactTime}
          checked={form.exactTime ?? defaults?.exact_time ?? false}
          onChange={(exactTime) => change("exact_time", { exactTime })}
        />
      </SettingGroup>
      <SettingField
        label={words.titleModel}
        hint={defaults?.titles === false ? words.titlesOff : undefined}
        error={errorAt("title_model")}
        isSaid={form.titleModel !== ""}
        onReset={() => change("title_model", { titleModel: "" })}
      >
        <ModelPicker
          label={words.titleModel}
          shown={form.titleModel === "" ? words.usual(usualNamer) : form.titleModel}
          choices={namers}
          chosen={form.titleModel === "" ? {} : { model: form.titleModel }}
          className="input chat-setting-picker"
          onChoose={({ model = "" }) => change("title_model", { titleModel: model })}
        />
      </SettingField>
    </>
  );
}

let zones: readonly string[] | undefined;

function timeZones(): readonly string[] {
  zones ??= Intl.supportedValuesOf("timeZone");
  return zones;
}
