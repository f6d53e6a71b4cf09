/** Several of a set. */

import type { ReactNode } from "react";

import { CheckField } from "../../ui/field.tsx";
import { Line, Note } from "../../ui/list.tsx";

/** A group of boxes to tick; options are pairs of value and label. */
export function Choices({
  legend,
  hint,
  options,
  chosen,
  onChange,
}: {
  readonly legend: string;
  readonly hint: string;
  readonly options: readonly (readonly [value: string, label: string])[];
  readonly chosen: readonly string[];
  readonly onChange: (chosen: readonly string[]) => void;
}): ReactNode {
  return (
    <fieldset>
      <legend>{legend}</legend>
      <Note>{hint}</Note>
      <Line>
        {options.map(([value, label]) => (
          <CheckField
            key={value}
            label={label}
            checked={chosen.includes(value)}
            onChange={({ target }) =>
              onChange(target.checked ? [...chosen, value] : chosen.filter((other) => other !== value))
            }
          />
        ))}
      </Line>
    </fieldset>
  );
}
