/**
 * Built-in methods that look at what they work on first; see H2 and H3 of `harden.ts`.
 *
 * Each is written out, with the name and the number of parameters of the original: every call of a script makes them anew in
 * a context of its own, and putting them together by name took four times as long there. For the same reason they take
 * `arguments`, are members of classes (V8 makes all methods of a class at once, those of an object one by one), and are
 * assigned: what is there is writable and not enumerable, and stays so.
 */

/** Throws when the method must not work on `target`. */
export type Check = (target: unknown) => void;

type Method = (this: unknown, ...args: never[]) => unknown;

/** Methods as values: they are handed on, not called on the class that holds them. */
type MethodsOf<Holder> = Record<keyof Holder, Method>;

const { apply } = Reflect;

const array = Array.prototype as unknown as MethodsOf<OfArray>;
const {
  concat: arrayConcat,
  copyWithin: arrayCopyWithin,
  every: arrayEvery,
  fill: arrayFill,
  filter: arrayFilter,
  find: arrayFind,
  findIndex: arrayFindIndex,
  findLast: arrayFindLast,
  findLastIndex: arrayFindLastIndex,
  flat: arrayFlat,
  flatMap: arrayFlatMap,
  forEach: arrayForEach,
  includes: arrayIncludes,
  indexOf: arrayIndexOf,
  join: arrayJoin,
  lastIndexOf: arrayLastIndexOf,
  map: arrayMap,
  push: arrayPush,
  reduce: arrayReduce,
  reduceRight: arrayReduceRight,
  reverse: arrayReverse,
  shift: arrayShift,
  slice: arraySlice,
  some: arraySome,
  sort: arraySort,
  splice: arraySplice,
  toLocaleString: arrayToLocaleString,
  toReversed: arrayToReversed,
  toSorted: arrayToSorted,
  toSpliced: arrayToSpliced,
  unshift: arrayUnshift,
  with: arrayWith,
} = array;
let checkOfArray: Check;

class OfArray {
  concat(this: unknown, _a: unknown): unknown {
    checkOfArray(this);
    return apply(arrayConcat, this, arguments);
  }
  copyWithin(this: unknown, _a: unknown, _b: unknown): unknown {
    checkOfArray(this);
    return apply(arrayCopyWithin, this, arguments);
  }
  every(this: unknown, _a: unknown): unknown {
    checkOfArray(this);
    return apply(arrayEvery, this, arguments);
  }
  fill(this: unknown, _a: unknown): unknown {
    checkOfArray(this);
    return apply(arrayFill, this, arguments);
  }
  filter(this: unknown, _a: unknown): unknown {
    checkOfArray(this);
    return apply(arrayFilter, this, arguments);
  }
  find(this: unknown, _a: unknown): unknown {
    checkOfArray(this);
    return apply(arrayFind, this, arguments);
  }
  findIndex(this: unknown, _a: unknown): unknown {
    checkOfArray(this);
    return apply(arrayFindIndex, this, arguments);
  }
  findLast(this: unknown, _a: unknown): unknown {
    checkOfArray(this);
    return apply(arrayFindLast, this, arguments);
  }
  findLastIndex(this: unknown, _a: unknown): unknown {
    checkOfArray(this);
    return apply(arrayFindLastIndex, this, arguments);
  }
  flat(this: unknown): unknown {
    checkOfArray(this);
    return apply(arrayFlat, this, arguments);
  }
  flatMap(this: unknown, _a: unknown): unknown {
    checkOfArray(this);
    return apply(arrayFlatMap, this, arguments);
  }
  forEach(this: unknown, _a: unknown): unknown {
    checkOfArray(this);
    return apply(arrayForEach, this, arguments);
  }
  includes(this: unknown, _a: unknown): unknown {
    checkOfArray(this);
    return apply(arrayIncludes, this, arguments);
  }
  indexOf(this: unknown, _a: unknown): unknown {
    checkOfArray(this);
    return apply(arrayIndexOf, this, arguments);
  }
  join(this: unknown, _a: unknown): unknown {
    checkOfArray(this);
    return apply(arrayJoin, this, arguments);
  }
  lastIndexOf(this: unknown, _a: unknown): unknown {
    checkOfArray(this);
    return apply(arrayLastIndexOf, this, arguments);
  }
  map(this: unknown, _a: unknown): unknown {
    checkOfArray(this);
    return apply(arrayMap, this, arguments);
  }
  push(this: unknown, _a: unknown): unknown {
    checkOfArray(this);
    return apply(arrayPush, this, arguments);
  }
  reduce(this: unknown, _a: unknown): unknown {
    checkOfArray(this);
    return apply(arrayReduce, this, arguments);
  }
  reduceRight(this: unknown, _a: unknown): unknown {
    checkOfArray(this);
    return apply(arrayReduceRight, this, arguments);
  }
  reverse(this: unknown): unknown {
    checkOfArray(this);
    return apply(arrayReverse, this, arguments);
  }
  shift(this: unknown): unknown {
    checkOfArray(this);
    return apply(arrayShift, this, arguments);
  }
  slice(this: unknown, _a: unknown, _b: unknown): unknown {
    checkOfArray(this);
    return apply(arraySlice, this, arguments);
  }
  some(this: unknown, _a: unknown): unknown {
    checkOfArray(this);
    return apply(arraySome, this, arguments);
  }
  sort(this: unknown, _a: unknown): unknown {
    checkOfArray(this);
    return apply(arraySort, this, arguments);
  }
  splice(this: unknown, _a: unknown, _b: unknown): unknown {
    checkOfArray(this);
    return apply(arraySplice, this, arguments);
  }
  toLocaleString(this: unknown): unknown {
    checkOfArray(this);
    return apply(arrayToLocaleString, this, arguments);
  }
  toReversed(this: unknown): unknown {
    checkOfArray(this);
    return apply(arrayToReversed, this, arguments);
  }
  toSorted(this: unknown, _a: unknown): unknown {
    checkOfArray(this);
    return apply(arrayToSorted, this, arguments);
  }
  toSpliced(this: unknown, _a: unknown, _b: unknown): unknown {
    checkOfArray(this);
    return apply(arrayToSpliced, this, arguments);
  }
  unshift(this: unknown, _a: unknown): unknown {
    checkOfArray(this);
    return apply(arrayUnshift, this, arguments);
  }
  with(this: unknown, _a: unknown, _b: unknown): unknown {
    checkOfArray(this);
    return apply(arrayWith, this, arguments);
  }
}

/** Bounds the methods of arrays; they also work on anything with a length. */
export function boundArrayMethods(check: Check): void {
  checkOfArray = check;
  const bounded = OfArray.prototype as unknown as MethodsOf<OfArray>;
  array.concat = bounded.concat;
  array.copyWithin = bounded.copyWithin;
  array.every = bounded.every;
  array.fill = bounded.fill;
  array.filter = bounded.filter;
  array.find = bounded.find;
  array.findIndex = bounded.findIndex;
  array.findLast = bounded.findLast;
  array.findLastIndex = bounded.findLastIndex;
  array.flat = bounded.flat;
  array.flatMap = bounded.flatMap;
  array.forEach = bounded.forEach;
  array.includes = bounded.includes;
  array.indexOf = bounded.indexOf;
  array.join = bounded.join;
  array.lastIndexOf = bounded.lastIndexOf;
  array.map = bounded.map;
  array.push = bounded.push;
  array.reduce = bounded.reduce;
  array.reduceRight = bounded.reduceRight;
  array.reverse = bounded.reverse;
  array.shift = bounded.shift;
  array.slice = bounded.slice;
  array.some = bounded.some;
  array.sort = bounded.sort;
  array.splice = bounded.splice;
  array.toLocaleString = bounded.toLocaleString;
  array.toReversed = bounded.toReversed;
  array.toSorted = bounded.toSorted;
  array.toSpliced = bounded.toSpliced;
  array.unshift = bounded.unshift;
  array.with = bounded.with;
}

const text = String.prototype as unknown as MethodsOf<OfText>;
const {
  split: textSplit,
  match: textMatch,
  matchAll: textMatchAll,
  replace: textReplace,
  replaceAll: textReplaceAll,
  normalize: textNormalize,
} = text;
let checkOfText: Check;

class OfText {
  split(this: unknown, _a: unknown, _b: unknown): unknown {
    checkOfText(this);
    return apply(textSplit, this, arguments);
  }
  match(this: unknown, _a: unknown): unknown {
    checkOfText(this);
    return apply(textMatch, this, arguments);
  }
  matchAll(this: unknown, _a: unknown): unknown {
    checkOfText(this);
    return apply(textMatchAll, this, arguments);
  }
  replace(this: unknown, _a: unknown, _b: unknown): unknown {
    checkOfText(this);
    return apply(textReplace, this, arguments);
  }
  replaceAll(this: unknown, _a: unknown, _b: unknown): unknown {
    checkOfText(this);
    return apply(textReplaceAll, this, arguments);
  }
  normalize(this: unknown): unknown {
    checkOfText(this);
    return apply(textNormalize, this, arguments);
  }
}

/** Bounds the methods that take texts apart. */
export function boundTextMethods(check: Check): void {
  checkOfText = check;
  const bounded = OfText.prototype as unknown as MethodsOf<OfText>;
  text.split = bounded.split;
  text.match = bounded.match;
  text.matchAll = bounded.matchAll;
  text.replace = bounded.replace;
  text.replaceAll = bounded.replaceAll;
  text.normalize = bounded.normalize;
}

const typed = Object.getPrototypeOf(Uint8Array) as { readonly prototype: object };
const buffer = typed.prototype as unknown as MethodsOf<OfBuffer>;
const {
  slice: bufferSlice,
  map: bufferMap,
  filter: bufferFilter,
  toSorted: bufferToSorted,
  toReversed: bufferToReversed,
  with: bufferWith,
} = buffer;
let checkOfBuffer: Check;

class OfBuffer {
  slice(this: unknown, _a: unknown, _b: unknown): unknown {
    checkOfBuffer(this);
    return apply(bufferSlice, this, arguments);
  }
  map(this: unknown, _a: unknown): unknown {
    checkOfBuffer(this);
    return apply(bufferMap, this, arguments);
  }
  filter(this: unknown, _a: unknown): unknown {
    checkOfBuffer(this);
    return apply(bufferFilter, this, arguments);
  }
  toSorted(this: unknown, _a: unknown): unknown {
    checkOfBuffer(this);
    return apply(bufferToSorted, this, arguments);
  }
  toReversed(this: unknown): unknown {
    checkOfBuffer(this);
    return apply(bufferToReversed, this, arguments);
  }
  with(this: unknown, _a: unknown, _b: unknown): unknown {
    checkOfBuffer(this);
    return apply(bufferWith, this, arguments);
  }
}

/** Bounds the methods that copy typed arrays. */
export function boundBufferMethods(check: Check): void {
  checkOfBuffer = check;
  const bounded = OfBuffer.prototype as unknown as MethodsOf<OfBuffer>;
  buffer.slice = bounded.slice;
  buffer.map = bounded.map;
  buffer.filter = bounded.filter;
  buffer.toSorted = bounded.toSorted;
  buffer.toReversed = bounded.toReversed;
  buffer.with = bounded.with;
}
